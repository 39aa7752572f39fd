"""How a bench looks: the numbers with their intervals, or why they are worth nothing. Pure."""

from __future__ import annotations

from collections.abc import Callable

from meshctl.ui.bench import Bench, BenchCompare, FlawEntry, MeasureEntry
from meshctl.ui.render.text import columns, wrapped

_BARS = "▁▂▃▄▅▆▇█"
RATES = (("decode", "decode_tokens_per_s"), ("prefill", "prefill_tokens_per_s"))
TIMES = (
    ("headers", "headers_s"),
    ("first byte", "first_byte_s"),
    ("first event", "first_event_s"),
    ("first token", "first_token_s"),
    ("between tokens", "inter_token_s"),
)


def bench_lines(document: Bench, width: int) -> list[str]:
    """Rates and times in columns, the gaps between tokens as a line of bars, then the verdict."""
    seen = document.provenance
    lines = wrapped(f"{seen.get('model')} at {seen.get('url')}", width)
    engine = " ".join(str(seen[k]) for k in ("engine", "engine_version") if seen.get(k))
    lines += wrapped(engine, width, "  ") if engine else []
    lines += ["", *columns([("", "MEDIAN", "LOW", "HIGH", "N"), *measure_rows(document)], "  ")]
    if bars := sparkline([gap for run in document.runs for gap in run.gaps_s]):
        lines += ["", f"  gaps between tokens, shortest to longest  {bars}"]
    cached = document.cached_tokens
    lines.append(f"  cached tokens  {'not said' if cached is None else cached}")
    if document.grade:
        lines.append(f"  grade  {document.grade}")
    return [*lines, "", *_verdict(document.invalid, width)]


def compare_lines(document: BenchCompare, width: int) -> list[str]:
    """One sentence, and what it rests on."""
    lines = wrapped(compare_sentence(document), width)
    if document.difference is not None and document.low is not None and document.high is not None:
        lines.append(f"  difference  {document.difference:+.1%}")
        lines.append(f"  interval    {document.low:+.1%} to {document.high:+.1%} (99 %)")
        lines.append(f"  of          {document.pairs} " + ("pairs" if document.interleaved
                     else "values each, recorded at different times"))  # fmt: skip
    return [*lines, "", *_verdict(document.invalid, width)]


def compare_sentence(document: BenchCompare) -> str:
    """`A decodes faster than B`, or how small a difference could not have been seen."""
    if not document.valid:
        return "A and B cannot be compared"
    if document.result != "none":
        return f"A decodes {document.result} than B"
    return f"no difference detectable; one of {document.detectable or 0:.1%} would have been found"


def measure_rows(document: Bench) -> list[tuple[str, ...]]:
    """Every measure in cells: name, median, low, high, n."""
    rows = [_row(n, getattr(document, f), lambda v: f"{v:.2f} tok/s") for n, f in RATES]
    rows += [_row(n, getattr(document, f), lambda v: f"{v * 1000:.2f} ms") for n, f in TIMES]
    if document.acceptance:
        rows.append(_row("acceptance", document.acceptance, lambda v: f"{v:.1%}"))
    return rows


def sparkline(values: list[float], bins: int = 20) -> str:
    """How often each length comes, from the shortest to the longest; empty for too few, and where
    all are within a percent of each other: its bars would be those of rounding."""
    if len(values) < 2 or max(values) - min(values) <= 0.01 * max(values):
        return ""
    return "".join(_BARS[round(share * (len(_BARS) - 1))] for share in shares(values, bins))


def shares(values: list[float], bins: int) -> list[float]:
    """The height of each bin, the highest being 1; the longest percent is left out of the scale."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[int((len(ordered) - 1) * 0.99)]
    counts = [0] * bins
    for value in values:
        at = int((value - low) / (high - low) * bins) if high > low else 0
        counts[min(max(at, 0), bins - 1)] += 1
    return [count / max(counts) for count in counts]


def _row(name: str, found: MeasureEntry | None, show: Callable[[float], str]) -> tuple[str, ...]:
    if found is None:
        return (name, "-", "", "", "0")
    return (name, show(found.median), show(found.low), show(found.high), str(found.n))


def _verdict(flaws: tuple[FlawEntry, ...], width: int) -> list[str]:
    if not flaws:
        return ["valid"]
    lines = ["✗ invalid: the numbers above are worth nothing"]
    for flaw in flaws:
        lines += wrapped(f"{flaw.id}: {flaw.why}", width, "  ")
    return lines
