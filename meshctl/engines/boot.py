"""Reads an engine's log line by line into what it shows: port, phase, first error. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from meshctl.engines.engine import Course, Engine, Milestone, Signature
from meshctl.engines.tells import tells


@dataclass(frozen=True)
class BootFacts:
    """What a log has shown so far.

    `cause` is the first line with a known signature, `error` the first real complaint without one.
    A wrapper ("failed to load model") is neither, for the line before it is the reason; nor is what
    is known to follow from something else.
    """

    port: int | None = None
    phase: Course = "start"
    signature: Signature | None = None
    cause: str = ""
    error: str = ""
    last: str = ""

    @property
    def reason(self) -> str:
        """The best single line: a known cause, else the first complaint, else the last line."""
        return self.cause or self.error or self.last

    @property
    def remedy(self) -> str:
        """What to do about the cause; empty when it is not known."""
        return self.signature.remedy if self.signature else ""


def read_line(facts: BootFacts, engine: Engine, line: str) -> BootFacts:
    """The facts with one more line of the engine's log."""
    said = engine.prefix.sub("", line, count=1).strip()
    if not said:
        return facts
    facts = replace(facts, port=facts.port or _port(engine, line), last=said)
    facts = replace(facts, phase=phase_after(engine.milestones, line, facts.phase))
    return _with_complaint(facts, engine, line, said)


def _with_complaint(facts: BootFacts, engine: Engine, line: str, said: str) -> BootFacts:
    known = signature_of(engine.signatures, said, facts.phase)
    if known and facts.signature and refines(known, facts.signature):
        return replace(facts, signature=known)
    if engine.wrappers.search(line) or (known and (known.follows or known.severity == "warning")):
        return facts
    if known and not facts.cause:
        return replace(facts, signature=known, cause=said)
    if not facts.error and engine.error.search(line):
        return replace(facts, error=said)
    return facts


def read_boot(engine: Engine, lines: Iterable[str]) -> BootFacts:
    """What a whole log shows."""
    facts = BootFacts()
    for line in lines:
        facts = read_line(facts, engine, line)
    return facts


def signature_of(
    signatures: Iterable[Signature], line: str, phase: Course = "start"
) -> Signature | None:
    """The first known failure that a line names in a log that has come to this phase."""
    if not tells(line):
        return None
    fitting = (known for known in signatures if not known.when or phase in known.when)
    return next((known for known in fitting if known.pattern.search(line)), None)


def refines(more: Signature, first: Signature) -> bool:
    """Whether a line says more of what was found before."""
    return bool(more.refines) and first.id.startswith(more.refines) and more.id != first.id


def phase_after(milestones: Iterable[Milestone], line: str, phase: Course) -> Course:
    """The phase a log is in after a line."""
    settled = phase in ("ready", "stopping")
    fitting = (stone for stone in milestones if not (stone.frame and settled))
    return next((stone.phase for stone in fitting if stone.pattern.search(line)), phase)


def _port(engine: Engine, line: str) -> int | None:
    found = engine.port_line.search(line) if engine.port_line else None
    return int(found["port"]) if found else None
