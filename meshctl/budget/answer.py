"""The whole answer about a service or a payload on a card: verdicts, room, relief. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from meshctl.budget.beside import companions, needs_on
from meshctl.budget.beyond import made_for
from meshctl.budget.budget import Budget
from meshctl.budget.card import Card
from meshctl.budget.longest import Longest, longest, shape
from meshctl.budget.on_card import AS_DECLARED, ENGINES, Wanted, budget_on
from meshctl.budget.settings import Geometry, Neighbour
from meshctl.budget.tenants import Tenant
from meshctl.budget.ways import Served, Way, larger_card, lighter, mild_enough, together, ways

WORST_FIRST = ("no", "unknown", "tight", "fits")
SHOWN_SEQUENCES = 8
"""Rows of contexts go up to here where nobody said how many requests are served at once."""


NO_CHANGES: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Question:
    """What a person asks instead of what the flags say; the context is that of one request."""

    context: int | None = None
    sequences: int | None = None
    others: Mapping[str, Any] = field(default_factory=dict)

    def wanted(self, tenant: Tenant, card: Card) -> Wanted:
        """The same by the key of the geometry, for one model."""
        changes = dict(self.others)
        if self.context is None and self.sequences is None:
            return Wanted(changes) if changes else AS_DECLARED
        served = served_of(tenant, budget_on(tenant, card))
        sequences = self.sequences or (served.sequences if served else 1)
        context = self.context or (served.context if served else None)
        if context is None or tenant.engine not in ENGINES:
            return Wanted({**changes, "sequences": sequences})
        wanted = shape(ENGINES[tenant.engine], sequences, context)
        if self.sequences is None and tenant.engine == "vllm":
            del wanted["sequences"]  # left to the engine, as long as nobody says how many
        return Wanted({**changes, **wanted})


AS_IT_IS = Question()


@dataclass(frozen=True)
class Part:
    """One model of a service, and who is beside it."""

    tenant: Tenant
    neighbours: tuple[Neighbour, ...]
    budget: Budget


@dataclass(frozen=True)
class Relief:
    """How it could fit: single ways, the first few of them together, lighter weights, a card."""

    ways: tuple[Way, ...] = ()
    together: tuple[Way, ...] = ()
    lighter_bytes: int | None = None
    card: str | None = None


@dataclass(frozen=True)
class Answer:
    """`part` is the model that decides: the worst of them."""

    subject: str
    card: Card
    part: Part
    parts: tuple[Part, ...]
    contexts: tuple[Longest, ...]
    relief: Relief

    @property
    def budget(self) -> Budget:
        return self.part.budget


def parts_of(
    tenants: Sequence[Tenant],
    card: Card,
    neighbours: Sequence[Neighbour] = (),
    question: Question = AS_IT_IS,
) -> list[Part]:
    """Each model with what is loaded beside it; the one question that a plan asks, too."""
    need = needs_on(card)
    return [
        Part(one, beside, budget_on(one, card, beside, question.wanted(one, card)))
        for one in tenants
        for beside in [(*companions(one, tenants, need), *neighbours)]
    ]


def worst(parts: Sequence[Part]) -> Part:
    """The model that decides for its service."""
    return min(parts, key=lambda part: WORST_FIRST.index(part.budget.verdict))


def answer(
    subject: str,
    tenants: Sequence[Tenant],
    card: Card,
    neighbours: Sequence[Neighbour] = (),
    question: Question = AS_IT_IS,
    *,
    only: str | None = None,
    cloud: bool = False,
) -> Answer:
    """Everything about the worst of these models, or about `only` one of them; `cloud` says that
    cards are Cloud Run's."""
    parts = parts_of(tenants, card, neighbours, question)
    part = worst([part for part in parts if only in (None, part.tenant.name)])
    served = served_of(part.tenant, part.budget)
    if served is None:
        return Answer(subject, card, part, tuple(parts), (), Relief())
    wanted = question.wanted(part.tenant, card)

    def elsewhere(other: Card, changes: Mapping[str, Any] = NO_CHANGES) -> Budget:
        asked = Wanted({**wanted.changes, **changes}, wanted.said)
        return budget_on(part.tenant, other, part.neighbours, asked)

    def retry(changes: Mapping[str, Any]) -> Budget:
        return elsewhere(card, changes)

    contexts = tuple(longest(served.engine, served.made_for, served.rows, retry))
    found = ways(part.budget, served, retry)
    several = together(found, retry)
    relief = Relief(
        tuple(found),
        tuple(several),
        None if mild_enough(found) else lighter(part.budget, served, retry),
        larger_card(card, elsewhere, cloud=cloud) if found and not mild_enough(found) else None,
    )
    return Answer(subject, card, part, tuple(parts), contexts, relief)


def served_of(tenant: Tenant, budget: Budget) -> Served | None:
    """The shape that was worked out, read back from its own lines; None where there is none."""
    lines = {line.name: line for line in budget.why}
    if tenant.weights is None or budget.kv_bytes_per_token is None or "context" not in lines:
        return None
    values = {name: line.value for name, line in lines.items()}
    engine, sequences = ENGINES[tenant.engine], int(values["sequences"] or 1)
    context = int(values["context"] or 1)
    rows = sequences
    if engine == "vllm" and lines["sequences"].source == "default":
        rows = SHOWN_SEQUENCES
        sequences = sequences if budget.binds == "sequences" else 1  # else nobody counts on them
    if engine == "llama.cpp" and not values.get("kv_unified"):
        context = max(1, context // sequences)
    return Served(
        engine=engine,
        sequences=sequences,
        rows=rows,
        context=context,
        made_for=longest_of_model(tenant),
        key_type=str(values.get("kv_dtype_k") or values.get("kv_dtype")),
        ubatch=int(values.get("ubatch") or 0),
        swa_full=bool(values.get("swa_full")),
        weights_bytes=budget.weights_bytes or 0,
        prompts_bytes=int(values.get("prompts") or 0),
    )


def longest_of_model(tenant: Tenant) -> int | None:
    """How long a context the model was made for; None where it does not say."""
    weights = tenant.weights
    if weights is None or tenant.engine not in ENGINES:
        return None
    keys = "gguf" if weights.format == "gguf" else "config"
    data = {"engine": ENGINES[tenant.engine], keys: dict(weights.keys)}
    try:
        return made_for(Geometry.model_validate(data))
    except ValidationError:
        return None
