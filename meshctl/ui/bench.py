"""The JSON documents of `bench`. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from meshctl.bench.analyse import Analysis, gaps
from meshctl.bench.compare import Comparison
from meshctl.bench.estimate import Measure
from meshctl.bench.session import Session, Shot
from meshctl.bench.validity import Flaw
from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document


class MeasureEntry(Frozen):
    """A median with the ends of its 95 % bootstrap interval, of so many values."""

    median: float
    low: float
    high: float
    n: int


class FlawEntry(Frozen):
    """One reason why the numbers are worth nothing."""

    id: str
    why: str


class WorkloadEntry(Frozen):
    """What was asked; `tokens` are the two lengths of answer."""

    tokens: tuple[int, int]
    prompt_tokens: int
    depths: tuple[int, ...]
    repeats: int


class RunEntry(Frozen):
    """One answer. Seconds are since its question was out; null: it never came."""

    kind: Literal["warm", "decode", "prefill"]
    prompt_tokens: int | None
    tokens: int | None
    cached_tokens: int | None
    headers_s: float | None
    first_byte_s: float | None
    first_event_s: float | None
    first_token_s: float | None
    ended_s: float | None
    server_first_token_s: float | None = Field(description="as its Server-Timing header says")
    finish: str
    error: str
    gaps_s: tuple[float, ...] = Field(default=(), exclude=True)


class Bench(Document):
    """What a bench measured. With `valid` false the numbers are shown and worth nothing."""

    kind: Literal["bench/v1"] = "bench/v1"
    valid: bool
    invalid: tuple[FlawEntry, ...]
    workload: WorkloadEntry
    runs: tuple[RunEntry, ...]
    decode_tokens_per_s: MeasureEntry | None
    prefill_tokens_per_s: MeasureEntry | None
    headers_s: MeasureEntry | None
    first_byte_s: MeasureEntry | None
    first_event_s: MeasureEntry | None
    first_token_s: MeasureEntry | None
    inter_token_s: MeasureEntry | None
    acceptance: MeasureEntry | None
    cached_tokens: int | None = Field(description="null: the engine does not say")
    grade: str | None = Field(description="null: no budget file was named")
    provenance: dict[str, Any]


class BenchCompare(Document):
    """Whether A decodes faster than B. Shares: 0.05 is five percent more; null: nothing to say."""

    kind: Literal["bench-compare/v1"] = "bench-compare/v1"
    result: Literal["faster", "slower", "none"]
    difference: float | None
    low: float | None
    high: float | None
    detectable: float | None = Field(description="the least that four runs of five would find")
    valid: bool
    invalid: tuple[FlawEntry, ...]
    pairs: int
    interleaved: bool = Field(description="false: recordings of different times")


def bench_document(session: Session, found: Analysis, grade: str | None = None) -> Bench:
    """A session and what was made of it."""
    work = session.workload
    engine = found.engine_decode_tokens_per_s
    said = {"engine_decode_tokens_per_s": engine.median if engine else None}
    return Bench(
        valid=not found.invalid,
        invalid=_flaws(found.invalid),
        workload=WorkloadEntry(
            tokens=work.lengths,
            prompt_tokens=work.prompt_tokens,
            depths=work.depths,
            repeats=work.repeats,
        ),
        runs=tuple(_run(shot) for shot in session.shots),
        decode_tokens_per_s=_measure(found.decode_tokens_per_s),
        prefill_tokens_per_s=_measure(found.prefill_tokens_per_s),
        headers_s=_measure(found.headers_s),
        first_byte_s=_measure(found.first_byte_s),
        first_event_s=_measure(found.first_event_s),
        first_token_s=_measure(found.first_token_s),
        inter_token_s=_measure(found.inter_token_s),
        acceptance=_measure(found.acceptance),
        cached_tokens=found.cached_tokens,
        grade=grade,
        provenance={**session.provenance, **said},
    )


def compare_document(found: Comparison) -> BenchCompare:
    """A comparison; one that is invalid finds nothing, whatever its numbers are."""
    seen = found.difference
    return BenchCompare(
        result=seen.result if seen and not found.invalid else "none",
        difference=seen.difference if seen else None,
        low=seen.low if seen else None,
        high=seen.high if seen else None,
        detectable=seen.detectable if seen else None,
        valid=not found.invalid and seen is not None,
        invalid=_flaws(found.invalid),
        pairs=seen.n if seen else 0,
        interleaved=found.interleaved,
    )


def _run(shot: Shot) -> RunEntry:
    reply = shot.reply
    return RunEntry(
        kind=shot.ask.kind,
        prompt_tokens=reply.prompt_tokens,
        tokens=reply.tokens,
        cached_tokens=reply.cached_tokens,
        headers_s=reply.headers_s,
        first_byte_s=reply.first_byte_s,
        first_event_s=reply.first_event_s,
        first_token_s=reply.first_token_s,
        ended_s=reply.ended_s,
        server_first_token_s=reply.server_first_token_s,
        finish=reply.finish,
        error=reply.error,
        gaps_s=tuple(gaps(reply)),
    )


def _measure(found: Measure | None) -> MeasureEntry | None:
    return MeasureEntry(**asdict(found)) if found else None


def _flaws(found: tuple[Flaw, ...]) -> tuple[FlawEntry, ...]:
    return tuple(FlawEntry(id=flaw.id, why=flaw.why) for flaw in found)
