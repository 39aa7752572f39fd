"""The JSON document of `budget show`, made from the answers of the planner. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from meshctl.budget import budget as domain
from meshctl.budget.answer import Answer, Part
from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document


class KvCache(Frozen):
    """One buffer of llama.cpp; `cells` are tokens of one stream, `bytes` those of all."""

    name: str
    layers: int
    cells: int
    bytes: int


class Reason(Frozen):
    """One number of the arithmetic, with where it comes from."""

    name: str
    value: int | float | str | bool | None
    source: Literal["measured", "header", "config", "default", "assumed"]
    text: str


class DeviceEntry(Frozen):
    """The card that was asked about; bytes are those of one of `count`."""

    name: str
    count: int
    usable_bytes: int
    reserved_bytes: int
    source: Literal["measured", "header", "config", "default", "assumed"]
    text: str


class NeighbourEntry(Frozen):
    """Who else is on the card."""

    name: str
    low_bytes: int
    high_bytes: int | None = Field(description="null: nobody can tell")
    text: str


class ModelBudget(Frozen):
    """One model of the service; the numbers above are those of the worst of them."""

    name: str
    verdict: Literal["fits", "tight", "no", "unknown"]
    binds: str | None
    margin_bytes: int | None


class ContextEntry(Frozen):
    """The longest context of each of so many requests at once; null: not even 256 tokens."""

    sequences: int
    fits_tokens: int | None
    tight_tokens: int | None = Field(description="with the least overhead")
    whole: bool = Field(description="as long as the model goes")


class WayEntry(Frozen):
    """One thing to give up, and what comes of it alone; the cheapest for users comes first."""

    write: str
    costs: str
    verdict: Literal["fits", "tight", "no", "unknown"]
    frees_bytes: int | None


OF_A_SUBJECT = (
    "others_bytes", "subject", "model", "device", "neighbours", "models", "contexts", "ways",
    "together", "lighter_bytes", "larger_card",
)  # fmt: skip


class Budget(Document):
    """Whether a model fits on its device; bytes are those of one device, null where a number does
    not apply or is not known. From `others_bytes` on the keys are those of a service or a payload:
    a geometry file has none of them."""

    kind: Literal["budget/v1"] = "budget/v1"
    verdict: Literal["fits", "tight", "no", "unknown"]
    binds: str | None = Field(description="the condition that decided; null: all hold")
    kv_bytes_per_token: float | None = Field(description="of one more token of a long request")
    block_tokens: int | None
    bytes_per_block: int | None
    num_blocks: int | None
    state_bytes_per_sequence: int | None
    state_bytes: int | None = Field(description="null: inside the pool")
    pool_bytes: int | None
    kv_tokens: int | None
    max_concurrency: float | None = Field(description="requests of `context` tokens at once")
    kv_caches: tuple[KvCache, ...] | None
    weights_bytes: int | None
    graphs_bytes: int | None = Field(description="null: not measured, part of the overhead")
    arena_bytes: int | None = Field(description="null: no experts are kept on the host")
    non_torch_bytes: int | None = Field(description="null: not measured, part of the overhead")
    overhead_low_bytes: int | None
    overhead_high_bytes: int | None
    usable_bytes: int | None
    margin_bytes: int | None = Field(description="free on the device with the most overhead")
    why: tuple[Reason, ...]
    others_bytes: int | None = Field(default=None, description="of neighbours, and reserved")
    subject: str | None = Field(default=None, description="null: a geometry file")
    model: str | None = Field(default=None, description="the model that decides")
    device: DeviceEntry | None = None
    neighbours: tuple[NeighbourEntry, ...] = ()
    models: tuple[ModelBudget, ...] = ()
    contexts: tuple[ContextEntry, ...] = ()
    ways: tuple[WayEntry, ...] = ()
    together: tuple[str, ...] = Field(default=(), description="the first ways that do it at once")
    lighter_bytes: int | None = Field(default=None, description="weights with which it would fit")
    larger_card: str | None = Field(default=None, description="the smallest known one that fits")
    explain: bool = Field(default=False, exclude=True, description="show the arithmetic, too")

    def data(self) -> dict[str, Any]:
        """The keys that were agreed, and more of what is no mere description."""
        found = super().data()
        if self.subject is not None:
            return found
        return {key: value for key, value in found.items() if key not in OF_A_SUBJECT}


def budget_document(found: domain.Budget, *, explain: bool = False) -> Budget:
    """The answer as its document."""
    return Budget(**asdict(found), explain=explain)


def answer_document(found: Answer, *, explain: bool = False) -> Budget:
    """The answer about a service or a payload, on its card and beside its neighbours."""
    card, relief = found.card, found.relief
    return Budget(
        **asdict(found.budget),
        explain=explain,
        subject=found.subject,
        model=found.part.tenant.name,
        device=DeviceEntry(
            name=card.name,
            count=card.count,
            usable_bytes=card.usable_bytes,
            reserved_bytes=card.reserved_bytes,
            source=card.source,
            text=card.text,
        ),
        neighbours=tuple(
            NeighbourEntry(name=n.name, low_bytes=n.low, high_bytes=n.high, text=n.text)
            for n in found.part.neighbours
        ),
        models=tuple(_model(part) for part in found.parts),
        contexts=tuple(
            ContextEntry(sequences=row.sequences, fits_tokens=row.fits, tight_tokens=row.tight,
                         whole=row.whole)
            for row in found.contexts
        ),
        ways=tuple(
            WayEntry(write=w.write, costs=w.costs, verdict=w.verdict, frees_bytes=w.frees_bytes)
            for w in relief.ways
        ),
        together=tuple(way.write for way in relief.together),
        lighter_bytes=relief.lighter_bytes,
        larger_card=relief.card,
    )  # fmt: skip


def _model(part: Part) -> ModelBudget:
    budget = part.budget
    return ModelBudget(
        name=part.tenant.name,
        verdict=budget.verdict,
        binds=budget.binds,
        margin_bytes=budget.margin_bytes,
    )
