"""Reads Cloud Run's JSON into what a plan may know. Pure."""

from __future__ import annotations

from typing import Any

from meshctl.plan.observed import LATEST, Revision, ServiceScaling, ServiceSeen, Share, Split
from meshctl.plan.release import release_of
from meshctl.targets.cloudrun.carried import carried
from meshctl.targets.cloudrun.odd import Odd, text
from meshctl.targets.cloudrun.template import template_of

Json = dict[str, Any]
ALL_USERS = "allUsers"
INVOKER = "roles/run.invoker"
EVERYONE = (ALL_USERS, "allAuthenticatedUsers")
"""The second is anyone with a Google account, which anyone can have."""
CALLERS = (INVOKER, "roles/run.admin", "roles/owner", "roles/editor")
"""The roles that hold run.routes.invoke; Cloud Run's table of IAM roles."""


def service_seen(service: Json, revisions: list[Json], policy: Json | None) -> ServiceSeen:
    """One service with its revisions and, when it was asked for, who may call it."""
    ready: Json = service.get("terminalCondition") or {}
    scaling = service.get("scaling") or {}
    return ServiceSeen(
        name=short(service["name"]),
        url=service.get("uri", ""),
        etag=service.get("etag", ""),
        generation=int(service.get("generation", 0)),
        ready=ready.get("state") == "CONDITION_SUCCEEDED",
        reconciling=is_reconciling(service),
        reason=ready.get("message", ""),
        traffic=split_of(service.get("traffic") or [{"percent": 100}]),
        effective=split_of(service.get("trafficStatuses") or ()),
        revisions=tuple(revision_seen(revision) for revision in revisions if _named(revision)),
        latest_ready=short(service.get("latestReadyRevision", "")) or None,
        latest_created=short(service.get("latestCreatedRevision", "")) or None,
        scaling=ServiceScaling(
            min=int(scaling.get("minInstanceCount", 0)),
            max=int(scaling["maxInstanceCount"]) if scaling.get("maxInstanceCount") else None,
            manual=_manual(scaling),
        ),
        public=_access(service, policy),
        anonymous=policy is None or needs_no_token(service, policy),
        held_open=held_open(service, policy or {}),
        labels=service.get("labels") or {},
        modifier=service.get("lastModifier") or None,
        carried=carried(Odd().mapping("template", service.get("template"))),
    )


def _access(service: Json, policy: Json | None) -> bool | None:
    """Whether it is open to everyone; a service without a check of invokers says so by itself, of
    any other the policy has to be asked."""
    if policy is None:
        return True if service.get("invokerIamDisabled") else None
    return is_public(service, policy)


def _manual(scaling: Json) -> int | None:
    """How many instances somebody asked for by hand; None where the platform decides."""
    manual = scaling.get("scalingMode") == "MANUAL"
    return int(scaling.get("manualInstanceCount", 0)) if manual else None


def _named(revision: Json) -> bool:
    """Nothing can be done to or said of a revision without a name."""
    return bool(Odd().read("", revision.get("name"), text, ""))


def revision_seen(revision: Json) -> Revision:
    """One revision; its release id is recomputed, for labels are copied by other clients.

    Never raises: what says nothing legible about itself is not ready.
    """
    template, odd = template_of(revision), Odd()
    conditions = odd.rows("conditions", revision.get("conditions"))
    ready: Json = next((c for c in conditions if c.get("type") == "Ready"), {})
    labels = odd.mapping("labels", revision.get("labels"))
    return Revision(
        name=short(odd.read("name", revision.get("name"), text, "")),
        release=release_of(template).id,
        template=template,
        ready=ready.get("state") == "CONDITION_SUCCEEDED",
        failed=ready.get("state") == "CONDITION_FAILED",
        reason=odd.read("message", ready.get("message"), text, ""),
        created=odd.read("createTime", revision.get("createTime"), text, ""),
        labels={key: odd.read(key, value, text, "") for key, value in labels.items()},
    )


def is_reconciling(service: Json) -> bool:
    """Whether the service is still on its way to what was last asked of it.

    A failed generation is never observed: then the last one that served stays the observed one;
    facts/cloud-run section 1. A success that belongs to an older generation says nothing.
    """
    failed = (service.get("terminalCondition") or {}).get("state") == "CONDITION_FAILED"
    observed, wanted = (int(service.get(k, 0)) for k in ("observedGeneration", "generation"))
    return bool(service.get("reconciling", False)) or (observed < wanted and not failed)


def split_of(rows: Any) -> Split:
    """Rows of `traffic` or `trafficStatuses`; a row without a revision follows the latest."""
    return tuple(
        Share(
            revision=short(row.get("revision", "")) or LATEST,
            percent=int(row.get("percent", 0)),
            tag=row.get("tag") or None,
            url=row.get("uri") or None,
        )
        for row in rows
    )


def traffic_json(split: Split) -> list[Json]:
    """Rows of `traffic` as the API takes them."""
    return [_row_json(row) for row in split]


def _row_json(row: Share) -> Json:
    latest = row.revision == LATEST
    kind = "LATEST" if latest else "REVISION"
    document: Json = {"type": f"TRAFFIC_TARGET_ALLOCATION_TYPE_{kind}", "percent": row.percent}
    if not latest:
        document["revision"] = row.revision
    if row.tag:
        document["tag"] = row.tag
    return document


def is_public(service: Json, policy: Json) -> bool:
    """Whether anyone may call it: by policy, or because the check is switched off."""
    if service.get("invokerIamDisabled"):
        return True
    return any(_opens(binding) for binding in policy.get("bindings", ()))


def needs_no_token(service: Json, policy: Json) -> bool:
    """Whether it may be called by whoever does not even say who it is."""
    if service.get("invokerIamDisabled"):
        return True
    return any(_opens(binding, (ALL_USERS,)) for binding in policy.get("bindings", ()))


def held_open(service: Json, policy: Json) -> str:
    """What opens it beside what opening adds, in words; "" where nothing does."""
    if service.get("invokerIamDisabled"):
        return "its check of invokers is switched off"
    for binding in with_access(policy, False).get("bindings", ()):
        for member in EVERYONE:
            if _opens(binding, (member,)):
                condition = " under a condition" if binding.get("condition") else ""
                return f"{member} has {binding['role']}{condition}"
    return ""


def with_access(policy: Json, public: bool) -> Json:
    """The policy with everyone in or out of the invokers; every other binding as it was, one for
    invokers under a condition included. A policy that says so already is returned unchanged.

    Only what opening adds is taken away: whatever else opens it could not be given back exactly.
    """
    bindings: list[Json] = list(policy.get("bindings", ()))
    to = (ALL_USERS,) if public else EVERYONE
    if public == any(_opens(binding, to) for binding in bindings):
        return policy
    closed = [_without_everyone(binding) for binding in bindings]
    kept = [binding for binding in closed if binding.get("members")]
    if not public:
        return {**policy, "bindings": kept}
    plain = next((b for b in kept if b.get("role") == INVOKER and not b.get("condition")), None)
    others = [binding for binding in kept if binding is not plain]
    members = [*(plain["members"] if plain else ()), ALL_USERS]
    return {**policy, "bindings": [*others, {"role": INVOKER, "members": members}]}


def _opens(binding: Json, to: tuple[str, ...] = EVERYONE) -> bool:
    members = binding.get("members", ())
    return binding.get("role") in CALLERS and any(member in members for member in to)


def _without_everyone(binding: Json) -> Json:
    """Out of the plain binding that opening writes into; one under a condition stays."""
    if binding.get("role") != INVOKER or binding.get("condition"):
        return binding
    return {**binding, "members": [m for m in binding.get("members", ()) if m != ALL_USERS]}


def short(name: str) -> str:
    """`projects/p/locations/l/services/s` -> `s`; v2 gives revisions by full name in places."""
    return name.rpartition("/")[2]
