"""What a person should know beside the steps of a plan. Pure."""

from __future__ import annotations

from meshctl.plan import budget, fetching, in_place, quota, source, traffic, warmth
from meshctl.plan.acts import Acts
from meshctl.plan.candidate import reusable
from meshctl.plan.cost import CostChange
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.peer import notes_on_peers
from meshctl.plan.release import Release
from meshctl.plan.request import Request
from meshctl.plan.steps import CreateService, PlaceRevision
from meshctl.spec.peers import peers_of_coordinator


def not_asked(request: Request, acts: Acts) -> list[str]:
    """What a new release depends on and nobody looked at, so that nobody takes silence for a yes;
    nothing where no release is placed, or where it depends on none of it."""
    if not any(isinstance(act, CreateService | PlaceRevision) for _, act in acts):
        return []
    service = request.service
    gpu = service.resources.gpu is not None
    asked = {
        "quota, and so whether old and new fit side by side": (
            quota.concerns(service) and request.quota is None
        ),
        "memory budget": bool(budget.payloads_to_read(request)) and request.headers is None,
        "boot facts of the engine": gpu,
        "the env of peers": service.role == "peer"
        or bool(peers_of_coordinator(request.fleet, request.key)),
    }
    left = [what for what, matters in asked.items() if matters]
    return [f"not asked yet: {'; '.join(left)}"] if left else []


def notes(
    request: Request,
    seen: ServiceSeen | None,
    release: Release | None,
    acts: Acts,
    cost: CostChange | None,
) -> tuple[str, ...]:
    """Every note on a plan for deploy or canary, what nobody asked first."""
    if in_place.on_host(request):
        return _on_host(request, seen, release, acts)
    before, after = (cost.before, cost.after) if cost else (None, None)
    found = [*not_asked(request, acts), *quota.notes(request), *warmth.asked_per_revision(request)]
    found += budget.notes(request, acts)
    if request.release is None:
        found += source.notes(request.service.image, request.built, request.source)
        found += fetching.notes(request, acts)
    found += notes_on_peers(request, seen)
    if seen is not None:
        found += warmth.changed(seen, acts, release) if release else []
        found += warmth.candidates(request.key, request.name, before)
        found += warmth.new_candidates(before, after)
        found += warmth.by_others(seen.scaling)
        found += _traffic(seen) + _access(request, seen) + _carried(seen, acts)
        found += _left_behind(request, seen, release) if release else []
        found += _verdict(request, seen)
    return tuple(found)


def _on_host(
    request: Request, seen: ServiceSeen | None, release: Release | None, acts: Acts
) -> tuple[str, ...]:
    found = list(source.notes(request.service.image, request.built, request.source))
    found += budget.notes(request, acts)
    if seen is not None:
        found += _left_behind(request, seen, release) if release else []
        found += _verdict(request, seen)
    return tuple(found)


def _traffic(seen: ServiceSeen) -> list[str]:
    named = "; from here on revisions are named" if traffic.for_a_new_one(seen) else ""
    return [traffic.outlook(seen) + named]


def _access(request: Request, seen: ServiceSeen) -> list[str]:
    if seen.public is not None:
        return []
    asks = f"`meshctl plan {request.key}` asks, and so does every deploy"
    return [f"not asked, for it takes a call for each service: who may call it; {asks}"]


def _carried(seen: ServiceSeen, acts: Acts) -> list[str]:
    """What the new revision takes over although no key of the fleet file says it."""
    if not any(isinstance(act, PlaceRevision) for _, act in acts):
        return []
    kept = seen.carried
    found = {"labels": [*kept.labels], "annotations": [*kept.annotations],
             "container": [kept.container] if kept.container else []}  # fmt: skip
    told = [f"{what} {', '.join(names)}" for what, names in found.items() if names]
    return [f"the new revision keeps what others set: {'; '.join(told)}"] if told else []


def _left_behind(request: Request, seen: ServiceSeen, release: Release) -> list[str]:
    revision = reusable(seen, release)
    if revision is None or not request.ledger.left_behind(revision.name):
        return []
    return [f"release {revision.release} was rolled back from before"]


def _verdict(request: Request, seen: ServiceSeen) -> list[str]:
    main = seen.main
    verdict = request.ledger.verdict_of(main.name, main.release) if main else None
    if verdict not in ("fail", "unclear"):
        return []
    return [f"the latest verdict on what serves is {verdict}: `meshctl verify` asks again"]
