"""How an error looks: what, where, and what to type next. Pure."""

from __future__ import annotations

from meshctl.errors import MeshctlError
from meshctl.ui.render.text import says, wrapped


def error_lines(error: MeshctlError, width: int) -> list[str]:
    """`error: MESSAGE`, then place and hint where the error has them; a place that the message
    names is not said again."""
    lines = wrapped(error.message, width, "error: ", "       ")
    if error.place and not says(error.message, error.place):
        lines += [f"  at:   {error.place}"]
    if error.hint:
        lines += wrapped(error.hint, width, "  hint: ")
    return lines
