"""How an adoption looks: the text for the fleet file alone, or what came of it. Pure."""

from __future__ import annotations

from meshctl.ui.answers import Adopt, OlderRevision
from meshctl.ui.render.text import SIGNS, columns, minute, wrapped


def adopt_lines(document: Adopt, width: int) -> list[str]:
    """Where there is a text it is all, so that `> meshctl.yaml` makes a fleet file of it."""
    if document.text:
        return document.text.rstrip("\n").split("\n")
    return adopt_told(document, width)


def adopt_told(document: Adopt, width: int) -> list[str]:
    """What came of it, the revisions beside it, and what to type next."""
    lines = wrapped(f"{_sign(document)}  {document.message}", width)
    if document.file:
        lines += wrapped(f"written to {document.file} as services.{document.service}", width, "  ")
    if document.unchanged:
        lines += wrapped(f"unchanged: {document.unchanged} has it", width, "  ")
    for note in document.notes:
        lines += wrapped(f"note: {note}", width, "  ")
    for known in dict.fromkeys(one.known for one in document.older):
        same = [_older(one) for one in document.older if one.known == known]
        lines += [f"  {known}:", *(f"    {row}" for row in columns(same))]
    return [*lines, *wrapped(f"next: `{document.next}`", width, "  ")]


def _sign(document: Adopt) -> str:
    return SIGNS[document.verdict] if document.verdict else "- unproven"


def _older(one: OlderRevision) -> tuple[str, ...]:
    return one.release, one.revision, minute(one.created), ", ".join(one.tags)
