"""Draws a budget as an SVG that needs nothing else, readable in light and in dark. Pure."""

from __future__ import annotations

from html import escape

from meshctl.quantities import show_bytes
from meshctl.ui.budget import Budget
from meshctl.ui.render.budget import parts_of, verdict_line

WIDTH, LEFT, BAR_TOP, BAR_HEIGHT, ROW = 720, 24, 96, 44, 24
_INNER = WIDTH - 2 * LEFT
_GIB = 2**30
LONGEST = 90
"""Characters of 14 pixels that go into a line."""
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1a1a1a }
  .title { font-size: 18px; font-weight: 600 }
  .quiet { fill: #5a5a5a }
  .paper { fill: #ffffff }
  .weights { fill: #2f5d8a } .caches { fill: #c2703d } .state { fill: #7a5ba6 }
  .overhead { fill: #9a9a9a } .others { fill: #6b7f3a } .free { fill: #e4e4e4 }
  .line { stroke: #1a1a1a; stroke-width: 2 } .tick { stroke: #8a8a8a }
  @media (prefers-color-scheme: dark) {
    text { fill: #ececec } .quiet { fill: #a8a8a8 } .paper { fill: #16181c }
    .weights { fill: #6fa3d8 } .caches { fill: #e29a6b } .state { fill: #b294dd }
    .overhead { fill: #7d7d7d } .others { fill: #a5bd66 } .free { fill: #33373d }
    .line { stroke: #ececec } .tick { stroke: #6a6a6a }
  }
"""


def budget_picture(document: Budget) -> str:
    """The device as one bar: every part as long as its share, named and with its size below."""
    parts = [part for part in parts_of(document) if part[1]]
    rows = len(parts) + 1 if parts else 0
    height = BAR_TOP + (BAR_HEIGHT + 56 + rows * ROW if parts else 24)
    body = [
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        _text(LEFT, 36, verdict_line(document), "title"),
        _text(LEFT, 62, _short(_subject(document)), "quiet"),
    ]
    if parts and document.usable_bytes:
        body += _bar(parts, document.usable_bytes)
    else:
        body.append(_text(LEFT, BAR_TOP, "nothing to draw: not every part is known", "quiet"))
    title = _printable(f"{verdict_line(document)}: {_subject(document)}")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            *body,
            "</svg>",
            "",
        ]
    )


def _short(text: str) -> str:
    """Its end, where it is longer than the picture is wide."""
    return text if len(text) <= LONGEST else f"…{text[1 - LONGEST :]}"


def _subject(document: Budget) -> str:
    device, model = document.device, document.model
    what = document.subject or "a geometry file"
    if model and not what.endswith(model):
        what += f", model {model}"
    if device is None:
        return what
    count = f"each of {device.count} x " if device.count > 1 else ""
    return f"{what}, on {count}{device.name} with {show_bytes(device.usable_bytes)}"


def _bar(parts: list[tuple[str, int]], usable: int) -> list[str]:
    """The device ends at the line; what stands behind it is more than there is."""
    used = sum(size for _, size in parts)
    whole = max(usable, used)
    parts = [*parts, ("free", max(0, usable - used))]
    lines, at = [], 0
    for name, size in parts:
        x, wide = _x(at, whole), _x(at + size, whole) - _x(at, whole)
        lines.append(
            f'<rect class="{name}" x="{x:.1f}" y="{BAR_TOP}" width="{wide:.1f}" '
            f'height="{BAR_HEIGHT}"><title>{name} {show_bytes(size)}</title></rect>'
        )
        at += size
    end = _x(usable, whole)
    top, bottom = BAR_TOP - 8, BAR_TOP + BAR_HEIGHT + 8
    lines.append(f'<line class="line" x1="{end:.1f}" x2="{end:.1f}" y1="{top}" y2="{bottom}"/>')
    return [*lines, *_scale(whole), *_legend(parts)]


def _scale(whole: int) -> list[str]:
    """Marks at round numbers of GiB, ten of them at most."""
    gib = whole / _GIB
    step = next((size for size in (0.1, 0.5, 1, 2, 5, 10, 20, 50) if gib / size <= 10), 100)
    lines, y = [], BAR_TOP + BAR_HEIGHT
    for number in range(int(gib / step) + 1):
        x = _x(round(number * step * _GIB), whole)
        lines.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 6}"/>')
        lines.append(_text(x, y + 22, f"{number * step:g}", "quiet", "middle"))
    return [*lines, _text(LEFT + _INNER, y + 38, "GiB", "quiet", "end")]


def _legend(parts: list[tuple[str, int]]) -> list[str]:
    lines, y = [], BAR_TOP + BAR_HEIGHT + 56
    for number, (name, size) in enumerate(parts):
        row = y + number * ROW
        lines.append(f'<rect class="{name}" x="{LEFT}" y="{row - 12}" width="16" height="16"/>')
        lines.append(_text(LEFT + 26, row + 1, f"{name}  {show_bytes(size)}"))
    return lines


def _x(size: int, whole: int) -> float:
    return LEFT + _INNER * size / whole


def _text(x: float, y: int, text: str, kind: str = "", anchor: str = "start") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'<text{of} x="{x:.1f}" y="{y}" text-anchor="{anchor}">{_printable(text)}</text>'


def _printable(text: str) -> str:
    """No markup, and none of the signs that XML does not know."""
    return escape("".join(char if char.isprintable() else "?" for char in text))
