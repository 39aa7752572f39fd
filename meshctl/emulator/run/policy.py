"""IAM on services: the policy with its etag, and the guard the fronts ask."""

from __future__ import annotations

import base64
from typing import Any

from aiohttp import web

from meshctl.emulator.failures import ApiError, invalid
from meshctl.emulator.moment import now_us
from meshctl.emulator.run import view
from meshctl.emulator.run.records import Catalogue, Service
from meshctl.emulator.tokens import Tokens

INVOKER = "roles/run.invoker"


def _new_etag() -> str:
    return base64.b64encode(now_us().to_bytes(8, "big")).decode()


def shown(service: Service) -> dict[str, Any]:
    """The policy as answered; a service nobody granted anything on has only an etag."""
    return service.policy or {"etag": "ACAB"}


def replace(catalogue: Catalogue, service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Set the policy; 409 ABORTED when its etag is stale, none means overwrite."""
    policy = body.get("policy")
    if not isinstance(policy, dict):
        raise invalid("policy is required.", "policy")
    given = policy.get("etag")
    if given and given != shown(service)["etag"]:
        raise ApiError(
            "ABORTED",
            "There were concurrent policy changes. Please retry the whole read-modify-write with "
            "exponential backoff.",
        )
    bindings = [row for row in _bindings(policy) if row["members"]]
    service.policy = {"version": 1, "etag": _new_etag(), "bindings": bindings}
    catalogue.save(service)
    return service.policy


def _bindings(policy: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a policy; ApiError 400 where one is no role with members."""
    rows = policy.get("bindings") or []
    if not isinstance(rows, list) or not all(_is_binding(row) for row in rows):
        raise invalid("A binding is a role with a list of members.", "policy.bindings")
    return [row | {"members": row.get("members", [])} for row in rows]


def _is_binding(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("role"), str):
        return False
    members = row.get("members", [])
    return isinstance(members, list) and all(isinstance(member, str) for member in members)


def is_public(service: Service) -> bool:
    """Whether anybody may call: allUsers is an invoker, or the check is switched off (s6)."""
    if service.spec.get("invokerIamDisabled"):
        return True
    rows = service.policy.get("bindings", [])
    return any(row["role"] == INVOKER and "allUsers" in row["members"] for row in rows)


class Guard:
    """Lets requests with a good identity token pass to services that are not public."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def __call__(self, service: Service, request: web.BaseRequest) -> tuple[int, str] | None:
        """None to pass, else status and text; facts s6: the container never sees a refusal."""
        if is_public(service):
            return None
        headers = request.headers
        header = headers.get("X-Serverless-Authorization") or headers.get("Authorization") or ""
        kind, _, token = header.partition(" ")
        if kind.lower() != "bearer" or not token:
            return 403, "Forbidden: your client does not have permission to get this URL.\n"
        claims = self._tokens.read(token.strip())
        # facts s6: the audience stays the service URL even for a tag URL.
        audiences = [view.url(service.ports.get("", 0)), *service.spec.get("customAudiences", [])]
        if claims is None or str(claims.get("aud", "")).rstrip("/") not in audiences:
            return 401, "Unauthorized: the access token could not be verified.\n"
        return None
