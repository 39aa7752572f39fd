"""Makes the plan for deploy and canary: the steps from what is observed to what is wanted. Pure."""

from __future__ import annotations

from typing import Literal

from meshctl.plan import around, budget, in_place, quota, refusals, traffic
from meshctl.plan.acts import Acts, numbered
from meshctl.plan.candidate import candidate, create
from meshctl.plan.change import Change
from meshctl.plan.cost import CostChange
from meshctl.plan.foreseen import foreseen
from meshctl.plan.notes import notes
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.prices import prices_of
from meshctl.plan.question import before_of, check, public_path, public_text
from meshctl.plan.release import Release, changes
from meshctl.plan.request import Request
from meshctl.plan.shifts import shifts
from meshctl.plan.steps import (
    KINDS,
    CreateService,
    PlaceRevision,
    Plan,
    Reason,
    RetireTag,
    StartRevision,
    Step,
    StopRevision,
)
from meshctl.plan.wanted import image_reference, wanted_release
from meshctl.spec.model import CloudRunTarget


def make_deploy(request: Request, seen: ServiceSeen | None) -> Plan:
    """The whole way: stage, place, check, shift, check, retire; empty when all is as wanted."""
    if in_place.on_host(request):
        return _on_host(request, seen)
    release, reasons = _release(request)
    if seen is not None:
        reasons = [*reasons, *refusals.silent(request, seen), *refusals.pinned(request, seen)]
        reasons += refusals.unclosable(request, seen)
    if release is None or reasons:
        return _plan(request, "deploy", seen, release, refused=reasons)
    if seen is None:
        return _plan(request, "deploy", None, release, create(request, release))
    if _serves_alone(seen, release):
        return _plan(request, "deploy", seen, release, _settings(request, seen))
    return _plan(request, "deploy", seen, release, _beside(request, seen, release))


def make_canary(request: Request, seen: ServiceSeen | None) -> Plan:
    """Stage, place and check at 0 %, and stop there."""
    if in_place.on_host(request):
        return _plan(request, "canary", seen, None, refused=[in_place.alone_there(request)])
    release, reasons = _release(request)
    if seen is None:
        hint = f"deploy it: `meshctl deploy {request.key}`"
        reasons = [*reasons, Reason(message=f"{request.key} does not exist yet", hint=hint)]
    else:
        reasons = [*reasons, *refusals.silent(request, seen), *refusals.pinned(request, seen)]
    if release is None or reasons or seen is None:
        return _plan(request, "canary", seen, release, refused=reasons)
    if _serves_alone(seen, release):
        return _plan(request, "canary", seen, release)
    return _plan(request, "canary", seen, release, candidate(request, seen, release))


def _on_host(request: Request, seen: ServiceSeen | None) -> Plan:
    """Stage, stop, start, check; empty when what is wanted runs."""
    reasons = in_place.refused(request, seen)
    release = request.release or (in_place.wanted_unit(request) if request.unit else None)
    if reasons or release is None:
        return _plan(request, "deploy", seen, release, refused=reasons)
    if seen is not None and seen.ready and _serves_alone(seen, release):
        return _plan(request, "deploy", seen, release)
    return _plan(request, "deploy", seen, release, in_place.acts_of(request, seen, release))


def _release(request: Request) -> tuple[Release | None, list[Reason]]:
    if request.release is not None:
        return request.release, [*refusals.declared(request), *refusals.unfinished(request)]
    reasons = [
        *refusals.declared(request),
        *refusals.built(request),
        *refusals.unfinished(request),
    ]
    target = request.fleet.targets[request.target]
    assert isinstance(target, CloudRunTarget), "hosts are planned otherwise"
    image = image_reference(request.fleet.images[request.service.image], request.built)
    if image is None:
        return None, reasons
    peers = request.peers
    return wanted_release(request.fleet, request.service, target, image, peers), reasons


def _serves_alone(seen: ServiceSeen, release: Release) -> bool:
    rows = seen.serving
    only = seen.revision(rows[0].revision) if len(rows) == 1 else None
    return only is not None and only.release == release.id


def _beside(request: Request, seen: ServiceSeen, release: Release) -> Acts:
    acts = candidate(request, seen, release)
    place = next(act for _, act in acts if isinstance(act, PlaceRevision))
    acts += around.scaling(request, seen)
    acts += shifts(request, seen, place)
    acts += around.access(request, seen, release, place.revision)
    acts.append((f"retire tag {place.tag}; the old revision stays as the way back",
                 RetireTag(tag=place.tag, revision=place.revision)))  # fmt: skip
    return acts


def _settings(request: Request, seen: ServiceSeen) -> Acts:
    """What changes without a new release; nothing at all is the empty plan."""
    main = seen.main
    assert main is not None, "only a service that serves is compared with what is wanted"
    release = Release(id=main.release, template=main.template)
    acts = around.scaling(request, seen)
    opened = around.access(request, seen, release, main.name)
    if acts and not opened:
        acts.append((public_text(seen), check(request, release, main.name, public_path(seen))))
    return [*acts, *opened]


def _plan(
    request: Request,
    verb: str,
    seen: ServiceSeen | None,
    release: Release | None,
    acts: Acts | None = None,
    refused: list[Reason] | None = None,
) -> Plan:
    main = seen.main if seen else None
    if acts and (full := quota.refused(request, seen, acts) + budget.refused(request, acts)):
        acts, refused = None, full
    steps = numbered(acts or [])
    cost = _cost(request, seen, acts or []) if release else None
    placed = next((s.act.revision for s in steps if KINDS[s.act.act] == "place"
                   and isinstance(s.act, CreateService | PlaceRevision | StartRevision)),
                  None)  # fmt: skip
    strategy = _strategy(seen, steps, placed)
    return Plan(
        service=request.key,
        target=request.target,
        name=request.name,
        verb=verb,
        strategy=strategy,
        outage_s=request.ledger.last_outage_s if strategy == "instead" else 0.0,
        changes=_changes(request, seen, release),
        steps=steps,
        refused=tuple(refused or ()),
        notes=notes(request, seen, release, acts or [], cost),
        from_release=main.release if main else None,
        to_release=release.id if release else None,
        revision=placed or (main.name if main else None),
        found=traffic.named(seen) if seen else (),
        before=before_of(seen, request.service.checks, request.service.rollout) if seen else None,
        min_instances=request.service.scaling.service_min,
        keep=request.keep and verb == "canary",
        cost=None if refused else cost,
    )


def _cost(request: Request, seen: ServiceSeen | None, acts: Acts) -> CostChange | None:
    target = request.fleet.targets[request.target]
    if not isinstance(target, CloudRunTarget):
        return None
    return foreseen(seen, [act for _, act in acts], prices_of(request.fleet, target))


def _changes(
    request: Request, seen: ServiceSeen | None, release: Release | None
) -> tuple[Change, ...]:
    """What differs in the release, and what differs in the service around it."""
    main = seen.main if seen else None
    found = changes(main.template if main else None, release.template) if release else ()
    outer = () if in_place.on_host(request) else around.changes(request, seen)
    return tuple(sorted((*found, *outer), key=lambda change: change.path))


def _strategy(
    seen: ServiceSeen | None, steps: tuple[Step, ...], placed: str | None
) -> Literal["create", "beside", "instead", "settings", "none"]:
    if not steps:
        return "none"
    acts = [step.act for step in steps]
    if any(isinstance(act, StopRevision) for act in acts):
        return "instead"
    if seen is None or any(isinstance(act, StartRevision) for act in acts):
        return "create"
    return "beside" if placed else "settings"
