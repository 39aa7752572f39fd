"""Who else is on a card: models of the same service, and other services of the host. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from meshctl.budget.card import Card
from meshctl.budget.on_card import budget_on, devices_of, prompts_of
from meshctl.budget.settings import Neighbour
from meshctl.budget.tenants import Known, Tenant, tenants_of
from meshctl.spec.model import Fleet

Need = Callable[[Tenant], Neighbour]
"""What a model of one service takes of one card."""


def needs_on(card: Card) -> Need:
    """The same, worked out when it is asked for the first time: models that take turns are not."""
    known: dict[str, Neighbour] = {}

    def need(one: Tenant) -> Neighbour:
        if one.name not in known:
            known[one.name] = need_of(one, card)
        return known[one.name]

    return need


def companions(tenant: Tenant, tenants: Sequence[Tenant], need: Need) -> list[Neighbour]:
    """What of its own service is loaded at the same time as a model."""
    others = [one for one in tenants if one is not tenant]
    mates = [one for one in others if one.pinned or _shares_a_set(one, tenant)]
    turns = [one for one in others if not one.pinned
             and (one.group != tenant.group or tenant.pinned)]  # fmt: skip
    return [need(one) for one in mates] + _turns(turns, need)


def neighbours_on(
    fleet: Fleet,
    target: str,
    card: Card,
    known: Known,
    own: Sequence[Tenant],
    without: Container[str],
) -> list[Neighbour]:
    """The other services of a host, on the same cards: each at its largest. None on Cloud Run,
    where an instance is alone on its card. `own` is who asks; services of `without` are not
    beside it."""
    if not card.shared:
        return []
    homes = [name for name, service in fleet.services.items()
             if name not in without and target in service.target]  # fmt: skip
    tenants = {name: tenants_of(fleet, name, known) for name in homes}
    asked = [max((devices_of(one, card) for one in group), default=0)
             for group in (own, *tenants.values())]  # fmt: skip
    if card.count > 1 and sum(asked) <= card.count:
        return []  # each can have cards of its own
    return [_service(name, group, card) for name, group in tenants.items() if group]


def need_of(tenant: Tenant, card: Card) -> Neighbour:
    """What a model takes of one card, from its own budget there."""
    found = budget_on(tenant, card)
    weights, pool = found.weights_bytes, found.pool_bytes
    low, high = found.overhead_low_bytes, found.overhead_high_bytes
    share = next((line.value for line in found.why if line.name == "requested_bytes"), None)
    pinned = any(line.name == "kv_memory_bytes" for line in found.why)
    unsure = bool(tenant.asked.burdened)
    if isinstance(share, int) and not pinned:
        return Neighbour(tenant.name, share, None if unsure else share, "its share of the card")
    if weights is None or pool is None or low is None or high is None:
        why = tenant.why or "its budget is unknown"
        return Neighbour(tenant.name, tenant.file_bytes, None, f"its files at least; {why}")
    used = weights + pool + (found.state_bytes or 0)
    least = 0 if tenant.asked.lightened else used + low
    most = None if unsure else used + high
    return Neighbour(tenant.name, least, most, "all it keeps", prompts_of(tenant, card))


def _service(name: str, tenants: Sequence[Tenant], card: Card) -> Neighbour:
    """A whole service: its pinned models, and of each group the turn that takes most."""
    need = needs_on(card)
    parts = [need(one) for one in tenants if one.pinned]
    parts += _turns([one for one in tenants if not one.pinned], need)
    return _sum(name, parts)


def _turns(tenants: Iterable[Tenant], need: Need) -> list[Neighbour]:
    """Of every group the turn that takes most; models of one set have theirs together."""
    groups: dict[str, list[Tenant]] = {}
    for one in tenants:
        groups.setdefault(one.group, []).append(one)
    return [_largest_turn(group, need) for _, group in sorted(groups.items())]


def _largest_turn(group: Sequence[Tenant], need: Need) -> Neighbour:
    turns = [
        _sum(one.name, [need(mate) for mate in group
                        if mate is one or _shares_a_set(mate, one)])
        for one in group
    ]  # fmt: skip
    worst = max(turns, key=lambda turn: (turn.high is None, turn.high or turn.low))
    least, prompts = max(turn.low for turn in turns), max(turn.prompts for turn in turns)
    return Neighbour(worst.name, least, worst.high, worst.text, prompts)


def _sum(name: str, parts: Sequence[Neighbour]) -> Neighbour:
    highs = [part.high for part in parts]
    known = [high for high in highs if high is not None]
    unsure = [part.text for part in parts if part.high is None]
    return Neighbour(
        name,
        sum(part.low for part in parts),
        sum(known) if len(known) == len(highs) else None,
        unsure[0] if unsure else parts[0].text if parts else "nothing",
        sum(part.prompts for part in parts),
    )


def _shares_a_set(one: Tenant, other: Tenant) -> bool:
    return one.group == other.group and bool(one.sets & other.sets)
