"""A bench as one HTML file that needs nothing else, readable in light and in dark. Pure."""

from __future__ import annotations

from html import escape

from meshctl.ui.bench import Bench
from meshctl.ui.render.bench import measure_rows, shares

WIDTH, HEIGHT, BINS = 640, 160, 40
_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --bar: #2f5d8a; --bad: #a32020 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --paper: #16181c; --bar: #6fa3d8; --bad: #ff8a80 } }
body { font: 16px system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 44rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }
.wide { overflow-x: auto } table { border-collapse: collapse }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; white-space: nowrap }
.bad { color: var(--bad) } svg { width: 100%; height: auto } rect, circle { fill: var(--bar) }
text { font: 13px system-ui, sans-serif; fill: var(--ink) }
"""


def bench_page(document: Bench) -> str:
    """The whole page."""
    title = f"bench of {document.provenance.get('model')} at {document.provenance.get('url')}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        _verdict(document),
        "<h2>Measures</h2>",
        _table([("", "median", "low", "high", "n"), *measure_rows(document)]),
        "<h2>Gaps between tokens</h2>",
        _histogram([gap for run in document.runs for gap in run.gaps_s]),
        "<h2>First token of each answer</h2>",
        _dots([r.first_token_s for r in document.runs if r.kind == "decode" and r.first_token_s]),
        "<h2>Where it comes from</h2>",
        _table([("", ""), *((k, str(v)) for k, v in document.provenance.items() if v is not None)]),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _verdict(document: Bench) -> str:
    if document.valid:
        return "<p>valid" + (f", grade {escape(document.grade)}" if document.grade else "") + "</p>"
    rows = "".join(f"<li>{escape(flaw.id)}: {escape(flaw.why)}</li>" for flaw in document.invalid)
    return f'<p class="bad">invalid: these numbers are worth nothing</p><ul class="bad">{rows}</ul>'


def _table(rows: list[tuple[str, ...]]) -> str:
    cells = [
        "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
        for row, tag in zip(rows, ["th"] + ["td"] * (len(rows) - 1), strict=True)
    ]
    return '<div class="wide"><table>' + "".join(f"<tr>{c}</tr>" for c in cells) + "</table></div>"


def _histogram(values: list[float]) -> str:
    if len(values) < 2:
        return "<p>nothing to draw</p>"
    wide, ordered = WIDTH / BINS, sorted(values)
    bars = [
        f'<rect x="{n * wide:.1f}" y="{HEIGHT - share * HEIGHT:.1f}" width="{wide - 1:.1f}" '
        f'height="{share * HEIGHT:.1f}"/>'
        for n, share in enumerate(shares(values, BINS))
    ]
    top = ordered[int((len(ordered) - 1) * 0.99)]
    return _picture("gaps between tokens", bars, f"{ordered[0] * 1000:.1f} ms",
                    f"{top * 1000:.1f} ms (99 %)")  # fmt: skip


def _dots(values: list[float]) -> str:
    if not values:
        return "<p>nothing to draw</p>"
    step, top = WIDTH / len(values), max(values)
    dots = [
        f'<circle cx="{(n + 0.5) * step:.1f}" cy="{HEIGHT - value / top * (HEIGHT - 10):.1f}" '
        f'r="4"><title>{value * 1000:.1f} ms</title></circle>'
        for n, value in enumerate(values)
    ]
    return _picture("time to the first token", dots, "first answer", f"top {top * 1000:.1f} ms")


def _picture(title: str, marks: list[str], left: str, right: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 24}" role="img"><title>{title}</title>'
        + "".join(marks)
        + f'<text x="0" y="{HEIGHT + 18}">{escape(left)}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 18}" text-anchor="end">{escape(right)}</text></svg>'
    )
