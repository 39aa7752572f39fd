"""Whether the memory of the card lets a plan through: a release that cannot boot is refused. Pure.

Only *no* refuses: it is said where some condition fails even with the least overhead that was ever
seen. What is not known is told, and holds nobody up.
"""

from __future__ import annotations

from collections.abc import Iterable

from meshctl.budget.answer import Part, parts_of
from meshctl.budget.beside import neighbours_on
from meshctl.budget.budget import Budget
from meshctl.budget.card import Card, card_of_service
from meshctl.budget.tenants import payloads_with_header, tenants_of
from meshctl.plan.acts import Acts
from meshctl.plan.request import Request
from meshctl.plan.steps import CreateService, PlaceRevision, Plan, Reason, StartRevision
from meshctl.quantities import show_bytes
from meshctl.spec.model import CloudRunTarget, PodmanTarget

DESPITE = "it is worked out, not tried: "


def payloads_to_read(request: Request) -> list[str]:
    """The payloads whose headers the question needs: none of a service without a card; on a host
    those of its neighbours, too."""
    target = request.fleet.targets[request.target]
    if request.release is not None:
        return []  # it is not what the fleet file says, and that is all there is to work out
    if isinstance(target, CloudRunTarget):
        wanted = request.service.resources.gpu is not None
        return payloads_with_header(request.fleet, request.key) if wanted else []
    if not target.gpus:
        return []
    own = payloads_with_header(request.fleet, request.key)
    homes = [key for key, service in request.fleet.services.items()
             if request.target in service.target]  # fmt: skip
    every = {name for key in homes for name in payloads_with_header(request.fleet, key)}
    return sorted(every) if own else []


def must_ask(request: Request, plan: Plan) -> bool:
    """Whether a plan starts an engine whose need somebody could work out."""
    return _places(step.act for step in plan.steps) and bool(payloads_to_read(request))


def refused(request: Request, acts: Acts) -> list[Reason]:
    """Every model that cannot boot on its card; none where headers were not read."""
    if request.headers is None or not _places(act for _, act in acts):
        return []
    card = _card(request)
    return [_reason(request, card, part) for part in _parts(request, card)
            if part.budget.verdict == "no"]  # fmt: skip


def notes(request: Request, acts: Acts) -> list[str]:
    """Where it is tight, and where nobody can tell although the header was asked."""
    if request.headers is None or not _places(act for _, act in acts):
        return []
    card = _card(request)
    found = [_note(request, card, part) for part in _parts(request, card)]
    return [note for note in found if note]


def _places(acts: Iterable[object]) -> bool:
    return any(isinstance(act, CreateService | PlaceRevision | StartRevision) for act in acts)


def _card(request: Request) -> Card:
    return card_of_service(request.fleet, request.service, request.target)


def _parts(request: Request, card: Card) -> list[Part]:
    """The models whose header was asked for; others, of engines of their own, are only beside
    them."""
    known = request.headers or {}
    tenants = tenants_of(request.fleet, request.key, known)
    beside = neighbours_on(request.fleet, request.target, card, known, tenants, {request.key})
    names = {name for name, model in request.service.models.items() if model.payload in known}
    return [part for part in parts_of(tenants, card, beside) if part.tenant.name in names]


def _note(request: Request, card: Card, part: Part) -> str:
    budget, name = part.budget, part.tenant.name
    more = f"`meshctl budget show {request.key} --why`"
    if budget.verdict == "tight":
        numbers = "; ".join([_numbers(budget), *_said(budget)])
        return f"memory: {name} is tight on {card.name}: {numbers}; {more}"
    if budget.verdict == "unknown":
        return f"memory: whether {name} fits on {card.name} is unknown: {_why(budget)}; {more}"
    return ""


def _said(budget: Budget) -> list[str]:
    """What makes it tight beside the numbers."""
    return [line.text for line in budget.why if line.name in ("more", "prompts", "beyond")]


def _reason(request: Request, card: Card, part: Part) -> Reason:
    name = part.tenant.name
    unread = [str(line.value) for line in part.budget.why if line.name == "unread"]
    unsure = f"; not known, and so not counted: {', '.join(unread)}" if unread else ""
    unsure += "".join(f"; {line.text}" for line in part.budget.why if line.name == "beyond")
    host = isinstance(request.fleet.targets[request.target], PodmanTarget)
    on = f" --on {request.target}" if host else ""
    return Reason(
        message=f"{name} does not fit on {card.spelled}: {_numbers(part.budget)}{unsure}",
        hint=f"what to give up first: `meshctl budget show {request.key}{on} --why`; {DESPITE}"
        + _despite(request),
        place=request.fleet.place(f"services.{request.key}.models.{name}"),
    )


def _despite(request: Request) -> str:
    """How it goes on all the same; only deploy and canary have the option."""
    option = "`--despite-budget` does not ask"
    if not request.announcer:
        return option
    return f"`meshctl deploy {request.key} --despite-budget` does not ask, then say this again"


def _numbers(budget: Budget) -> str:
    """What it needs at least against what there is, or the rule that is broken."""
    refused = next((line.text for line in budget.why if line.name == "refused"), None)
    if refused is not None:
        return refused
    usable, weights = budget.usable_bytes or 0, budget.weights_bytes or 0
    said = f"weights {show_bytes(weights)}"
    if budget.kv_caches is not None:
        least = budget.overhead_low_bytes or 0
        caches = (budget.pool_bytes or 0) + (budget.state_bytes or 0)
        said += f", caches {show_bytes(caches)}, overhead at least {show_bytes(least)}"
        others = sum(_taken(budget))
        said += f", others {show_bytes(others)}" if others else ""
        whole = show_bytes(weights + caches + least + others)
        return f"{said}: {whole} of {show_bytes(usable)}"
    text = next((line.text for line in budget.why if line.name == f"condition.{budget.binds}"), "")
    return f"{said} of {show_bytes(usable)}; {budget.binds}: {text}"


def _taken(budget: Budget) -> list[int]:
    """What others take at least."""
    return [line.value for line in budget.why
            if (line.name == "reserved_bytes" or line.name.startswith("neighbour."))
            and isinstance(line.value, int)]  # fmt: skip


def _why(budget: Budget) -> str:
    """The line that says what nobody can tell."""
    found = {line.name: line.text for line in budget.why}
    names = ["unknown", "model"] if budget.binds == "model" else ["unknown", "less"]
    names.append(f"condition.{budget.binds}")
    return next((found[name] for name in names if name in found), str(budget.binds))
