"""What stands around the releases of a service: its minimum, and who may call it. Pure."""

from __future__ import annotations

from meshctl.plan.acts import Acts
from meshctl.plan.change import Change
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.question import check
from meshctl.plan.release import Release
from meshctl.plan.request import Request
from meshctl.plan.steps import SetScaling, ShiftAccess


def scaling(request: Request, seen: ServiceSeen) -> Acts:
    """The minimum of the service, when it differs: a write that makes no revision."""
    to = seen.scaling.model_copy(update={"min": request.service.scaling.service_min})
    if to == seen.scaling:
        return []
    text = f"minimum instances of the service: {seen.scaling.min} -> {to.min}, without a revision"
    return [(text, SetScaling(to=to, was=seen.scaling))]


def access(request: Request, seen: ServiceSeen, release: Release, revision: str) -> Acts:
    """Opened or closed, it is asked on the path that clients have from then on. What only others
    can close is no step: refusals.py says so."""
    wanted = request.service.access == "public"
    if seen.public is None or seen.public == wanted or (seen.held_open and not wanted):
        return []
    if wanted:
        return [
            ("open it to everyone", ShiftAccess(public=True, found=False)),
            ("ask the battery on the public URL", check(request, release, revision, "public")),
        ]
    return [
        ("close it to everyone but invokers", ShiftAccess(public=False, found=True)),
        ("ask the battery on its URL", check(request, release, revision, "service")),
    ]


def changes(request: Request, seen: ServiceSeen | None) -> list[Change]:
    """What differs in the service around its release; of what was not asked nothing is said."""
    unasked = seen is not None and seen.public is None
    caller = request.service.access if unasked else None if seen is None else _word(seen.public)
    minimum = str(seen.scaling.min) if seen else None
    both = (
        Change(path="access", before=caller, after=request.service.access),
        Change(path="scaling.min", before=minimum, after=str(request.service.scaling.service_min)),
    )
    return [change for change in both if change.before != change.after]


def _word(public: bool | None) -> str:
    return "public" if public else "private"
