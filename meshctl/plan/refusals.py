"""Why a plan must not even begin: every reason at once, each with the way out. Pure."""

from __future__ import annotations

from meshctl.plan import delivery, traffic
from meshctl.plan.observed import LATEST, ServiceSeen
from meshctl.plan.request import Request
from meshctl.plan.source import under_way
from meshctl.plan.steps import Reason
from meshctl.plan.wanted import missing_payloads, speaks_mesh
from meshctl.state.builds import Built
from meshctl.state.ledger import Ledger, Run

TAG_AND_NAME = 46
"""Characters a tag and the service's name may have together; facts/cloud-run section 2."""
SHORTEST_TAG = 4


def declared(request: Request) -> list[Reason]:
    """What the fleet file alone forbids."""
    service, path = request.service, f"services.{request.key}"
    reasons = []
    if service.role in ("coordinator", "peer") and not speaks_mesh(service):
        reasons.append(
            _reason(request, f"{path}.args", f"a {service.role} without `mesh` in its args exits "
                    "with `Permission denied (os error 13)` and never listens",
                    "write `args: [mesh]`")
        )  # fmt: skip
    if service.role == "peer" and service.resources.gpu is None:
        message = "CPU-only services are not viable peers: they would answer for a GPU's model"
        hint = "set resources.gpu, or `role: standalone`"
        reasons.append(_reason(request, f"{path}.resources.gpu", message, hint))
    reasons += [
        _reason(request, f"{path}.{key}", message, hint)
        for key, message, hint in delivery.problems(request.fleet, service)
    ]
    if TAG_AND_NAME - len(request.name) < SHORTEST_TAG:
        reasons.append(
            _reason(request, path, f"{request.name} leaves no room for a tag: together they may "
                    f"have {TAG_AND_NAME} characters", "give it a shorter `name:`")
        )  # fmt: skip
    return reasons


def built(request: Request) -> list[Reason]:
    """What is not built yet, or was built without what it must hold."""
    service = request.service
    image = request.fleet.images[service.image]
    if image.ref:
        return []
    if request.built is None:
        return [_unbuilt(request, request.source.begun if request.source else None)]
    baked = service.deliver == "bake"
    missing = missing_payloads(request.fleet, service, request.built) if baked else []
    hint = f"check images.{service.image}.build.include, then run `meshctl build {service.image}`"
    return [_reason(request, f"services.{request.key}.models", text, hint) for text in missing]


def _unbuilt(request: Request, begun: Built | None) -> Reason:
    image = request.service.image
    message, hint = f"image {image} has no recorded build", f"run `meshctl build {image}`"
    if begun is not None:
        message += f"; {under_way(begun)}"
        hint = f"`meshctl build {image}` follows it, and records its digest"
    return _reason(request, f"services.{request.key}.image", message, hint)


def unfinished(request: Request) -> list[Reason]:
    """A run that nobody ended: another one on top of it would lose the way back."""
    run = request.ledger.unfinished
    if request.ledger.damaged:
        return [unknown_end(request.ledger.damaged, request.key)]
    if run is None:
        return []
    return [
        Reason(
            message=f"run {run.run} ({run.verb}) is unfinished",
            hint=f"`meshctl resume {request.key}` or `meshctl abort {request.key}`",
        )
    ]


def unknown_end(run: Run, key: str) -> Reason:
    """The newest run cannot be read: it may have left something half done."""
    return Reason(
        message=f"run {run.run} cannot be read, so whether it is finished is unknown",
        hint="`meshctl state check` names the object: put back what stood in it; or `meshctl "
        f"rollback {key}`, which goes by the labels on the service",
        place=f"runs/{run.run}",
    )


def pinned(request: Request, seen: ServiceSeen) -> list[Reason]:
    """A split that meshctl did not write: whoever made it had a reason."""
    unsure = request.ledger.unfinished or request.ledger.damaged
    if request.take_traffic or unsure or not is_pinned(request.ledger, seen):
        return []  # an unfinished run is refused by itself, and may have written the split
    left = request.ledger.half_way
    if left is not None and left.state == "fenced":
        return [_left_half_way(request, seen, left)]
    return [
        Reason(
            message=f"traffic is pinned by a stranger: {traffic.shown(seen.traffic)}"
            + (f"; the service was last changed by {seen.modifier}" if seen.modifier else ""),
            hint="find out who did it and why; `--take-traffic` carries on: meshctl then names "
            "revisions and moves traffic itself, and undo restores this split",
            place=f"{request.target}/{request.name}",
        )
    ]


def _left_half_way(request: Request, seen: ServiceSeen, run: Run) -> Reason:
    """Whoever took the run over ended before it took traffic back: nobody is a stranger here."""
    return Reason(
        message=f"run {run.run} ({run.verb}) was taken over, and nobody took back what it began: "
        f"traffic is {traffic.shown(seen.traffic)}",
        hint=f"`meshctl rollback {request.key}` goes back; `--take-traffic` carries on from there",
        place=f"{request.target}/{request.name}",
    )


def silent(request: Request, seen: ServiceSeen) -> list[Reason]:
    """A service in which nothing serves has no way back, and whatever gets ready gets its traffic
    unproved."""
    if traffic.named(seen):
        return []
    return [
        Reason(
            message=f"{request.name} exists, but no revision of it ever got ready",
            hint=f"remove it, then deploy: `gcloud run services delete {request.name}`",
            place=f"{request.target}/{request.name}",
        )
    ]


def unclosable(request: Request, seen: ServiceSeen) -> list[Reason]:
    """It is to be private, and what opens it is not meshctl's to take away: found out before
    anything is placed, not after traffic moved."""
    if request.service.access != "private" or not seen.held_open:
        return []
    name = request.name
    return [
        _reason(
            request,
            f"services.{request.key}.access",
            f"{name} cannot be closed: {seen.held_open}",
            f"`gcloud run services update {name} --invoker-iam-check` switches the check on, "
            f"`gcloud run services remove-iam-policy-binding {name}` takes a role away; or "
            "declare `access: public`",
        )
    ]


def is_pinned(ledger: Ledger, seen: ServiceSeen) -> bool:
    """Whether the split in force is one that the last journal entry did not write."""
    known, written = ledger.last_splits, traffic.percents(seen.traffic)
    if not known:
        return LATEST not in written
    now = (written, traffic.percents(traffic.named(seen)))
    return not any(split in now for split in known)


def _reason(request: Request, path: str, message: str, hint: str) -> Reason:
    return Reason(message=message, hint=hint, place=request.fleet.place(path))
