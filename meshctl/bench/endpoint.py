"""Finds out what is behind a URL, and what to write so that it answers exactly as long as asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from meshctl.bench.counters import Counters, read_counters
from meshctl.bench.prompt import prompt, salt
from meshctl.bench.workload import Ask
from meshctl.errors import CheckFailed, Unreachable, UsageError
from meshctl.outside.http import Http, Request
from meshctl.secret import Secret
from meshctl.spec.near import near

LOOK_S = 30.0
"""Longest wait for what an engine says of itself: a small answer, also of one that is waking up."""
_OWNERS = {"llamacpp": "llama-server", "vllm": "vllm"}


@dataclass(frozen=True)
class Endpoint:
    """One model behind one base URL, without `/v1`. `engine` is the family, empty when unknown."""

    url: str
    model: str
    engine: str = ""
    version: str = ""
    token: Secret | None = None

    def request(self, ask: Ask, seed: str) -> Request:
        """One question. Temperature 0, for chance in the text is chance in the speed of a drafter;
        both families know ignore_eos, and vLLM's min_tokens means the same."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt(ask.depth, seed)}],
            "max_tokens": ask.tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "ignore_eos": True,
        }
        if self.engine == "llama-server":
            body["cache_prompt"] = False
        if self.engine == "vllm":
            body["cache_salt"] = salt(seed)
        return Request(f"{self.url}/v1/chat/completions", "POST", _headers(self.token), body)

    def counters(self, http: Http) -> Counters | None:
        """None where it shows none."""
        answer = _get(http, self.url, "/metrics", self.token)
        return read_counters(answer) if answer else None


def find(http: Http, url: str, model: str | None, token: Secret | None) -> Endpoint:
    """The model that is named, or the first one listed. Raises Unreachable when nobody answers,
    CheckFailed when what answers lists no model, UsageError for a model that it does not list."""
    base = url.rstrip("/").removesuffix("/v1")
    listed = _models(http, base, token)
    ids = [card["id"] for card in listed]
    names = {name for card in listed for name in (card["id"], *_aliases(card))}
    if model is not None and model not in names:
        raise UsageError(f"no model {model!r} is listed", hint=near(model, ids), place=base)
    props = _object(_get(http, base, "/props", token))
    build = props.get("build_info")
    engine = "llama-server" if build else _OWNERS.get(str(listed[0].get("owned_by")), "")
    version = build or _object(_get(http, base, "/version", token)).get("version")
    return Endpoint(base, model or ids[0], engine, str(version or "")[:80], token)


def _models(http: Http, base: str, token: Secret | None) -> list[dict[str, Any]]:
    answer = http.send(Request(f"{base}/v1/models", headers=_headers(token)), timeout_s=LOOK_S)
    found = _object(answer.body.decode("utf-8", "replace")).get("data")
    cards = [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []
    cards = [card for card in cards if isinstance(card.get("id"), str)]
    if answer.status != 200 or not cards:
        raise CheckFailed(
            f"/v1/models answers {answer.status} and lists no model",
            hint="is it an OpenAI-compatible server, and is the token right?",
            place=base,
        )
    return cards


def _aliases(card: dict[str, Any]) -> list[str]:
    found = card.get("aliases")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _get(http: Http, base: str, path: str, token: Secret | None) -> str:
    """The text of a path that not every server has; empty when this one has not."""
    try:
        answer = http.send(Request(base + path, headers=_headers(token)), timeout_s=LOOK_S)
    except Unreachable:
        return ""
    return answer.body.decode("utf-8", "replace") if answer.status == 200 else ""


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _headers(token: Secret | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.reveal()}"} if token else {}
