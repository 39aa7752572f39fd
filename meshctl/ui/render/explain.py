"""How the record of a run looks. Pure."""

from __future__ import annotations

from meshctl.ui.answers import Explain
from meshctl.ui.render.text import SIGNS, facts, minute, second, wrapped


def explain_lines(document: Explain, width: int) -> list[str]:
    """What was done when, line by line, and what can be typed next."""
    head = f"{document.verb} {document.service} on {document.target}: {_ended(document)}"
    lines = wrapped(head, width, rest="  ")
    lines += facts(
        [
            ("run", document.run),
            ("by", document.who),
            ("began", f"{minute(document.events[0].at)} UTC" if document.events else None),
            ("verdict", SIGNS[document.verdict] if document.verdict else None),
            ("release", _releases(document)),
        ]
    )
    for event in document.events:
        about = f"{event.step}  " if event.step else ""
        lines += wrapped(f"{about}{event.text or event.event}", width, f"  {second(event.at)}  ")
    return lines + [f"  next: {command}" for command in document.next]


def _ended(document: Explain) -> str:
    if document.exit_code is None:
        return document.ended or "has not ended"
    code = f"exit code {document.exit_code}"
    return f"{document.ended}, {code}" if document.ended else code


def _releases(document: Explain) -> str | None:
    """Where it led from and to; one that only asked, or took away, led nowhere."""
    if document.verb in ("verify", "adopt", "gc"):
        return document.to_release
    return f"{document.from_release or '(none)'} -> {document.to_release or '(none)'}"
