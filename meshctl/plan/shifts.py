"""How traffic comes to a new release: percent by percent, a check after each. Pure."""

from __future__ import annotations

from meshctl.plan import traffic
from meshctl.plan.acts import Acts
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.question import check, public_path, public_text
from meshctl.plan.request import Request
from meshctl.plan.steps import Act, PlaceRevision, ShiftTraffic


def shifts(request: Request, seen: ServiceSeen, place: PlaceRevision) -> Acts:
    """Traffic by the declared percents, a check after each: on the tag while the share is partial,
    for the public URL would mostly be answered by the old release; at 100 % on the public URL."""
    found = was = traffic.named(seen)
    acts: Acts = []
    for percent in request.service.rollout.steps:
        to = traffic.toward(found, place.revision, percent)
        acts.append((f"traffic: {traffic.shown(to)}", ShiftTraffic(to=to, was=was, found=found)))
        acts.append(_check_at(request, seen, place, percent))
        was = to
    return acts


def _check_at(
    request: Request, seen: ServiceSeen, place: PlaceRevision, percent: int
) -> tuple[str, Act]:
    revision, bake_s = place.revision, request.service.rollout.bake
    if percent == 100:
        where = public_path(seen)
        return public_text(seen), check(request, place.release, revision, where, bake_s=bake_s)
    text = f"ask the battery on tag {place.tag}, which has traffic now"
    return text, check(request, place.release, revision, "tag", place.tag, bake_s=bake_s)
