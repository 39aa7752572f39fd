"""What is known to have gone wrong, as it grows line by line and as it is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshctl.engines.catalogue import WRAPPERS, engine_of
from meshctl.engines.engine import Course, Phase, Severity, Signature
from meshctl.engines.masking import masked

LONGEST_SHOWN = 500
"""Characters shown of a line."""
MOST_EVIDENCE = 5
"""Lines shown beside the one that names the cause."""
_PHASES: dict[Course, Phase | None] = {
    "start": None, "load": "load", "kv": "kv", "graphs": "graphs", "warmup": "warmup",
    "ready": "runtime", "stopping": "exit",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A known failure, and the first line that names it; phase and engine None: unknown."""

    signature: Signature
    phase: Phase | None
    engine: str | None
    line: str
    line_number: int
    evidence: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.signature.id

    @property
    def severity(self) -> Severity:
        return self.signature.severity


@dataclass(frozen=True)
class Complaint:
    """A line that complains, of what is not known."""

    line: str
    line_number: int


@dataclass
class Progress:
    """How far one speaker's log has come."""

    phase: Course = "start"
    engine: str | None = None
    stone: str = ""


@dataclass
class Found:
    """A finding as it grows. `settled`: what it stopped got ready later, in that line."""

    signature: Signature
    speaker: str
    first_id: str
    phase: Phase | None
    engine: str | None
    line: str
    number: int
    evidence: list[str] = field(default_factory=list)
    times: int = 1
    last: int = 0
    settled: int = 0

    @property
    def is_cause(self) -> bool:
        """Whether it still explains what came after."""
        follows, warning = self.signature.follows, self.signature.severity == "warning"
        return not (follows or warning or self.settled)

    @property
    def is_wrapper(self) -> bool:
        """Whether its line only repeats what another one says, if the log has that."""
        return WRAPPERS.search(self.line) is not None

    def rank(self) -> tuple[bool, bool, bool, int]:
        """Causes before what follows from them, what still holds before what was overcome."""
        warning = self.signature.severity == "warning"
        return warning, bool(self.settled), self.signature.follows, self.number

    def tell(self, text: str) -> None:
        if len(self.evidence) < MOST_EVIDENCE and text not in self.evidence:
            self.evidence.append(text)

    def again(self, number: int) -> None:
        """Another line that names it."""
        self.times, self.last = self.times + 1, number

    def refine(self, known: Signature, words: str, number: int) -> None:
        """A line that says more of it; the first one stays the first."""
        self.signature = known
        self.phase = known.phase or self.phase
        self.engine = engine_of(known) or self.engine
        self.again(number)
        self.tell(evidence(number, words))

    def finding(self) -> Finding:
        told = (
            [f"named in {self.times} lines, the last of them {self.last}"] if self.times > 1 else []
        )
        told += [f"overcome: ready in line {self.settled}"] if self.settled else []
        told += [f"said by {self.speaker}"] if self.speaker else []
        return Finding(self.signature, self.phase, self.engine, shown(self.line), self.number,
                       (*self.evidence, *told))  # fmt: skip


def begin(known: Signature, course: Progress, speaker: str, words: str, number: int) -> Found:
    engine = engine_of(known) or course.engine
    phase = known.phase or _PHASES[course.phase]
    found = Found(known, speaker, known.id, phase, engine, words, number)
    if course.stone and known.phase != "system":
        found.tell(course.stone)
    return found


def evidence(number: int, words: str) -> str:
    """A line beside the one that names the cause."""
    return f"line {number}: {shown(words)}"


def shown(text: str) -> str:
    """Fit to show: without secrets of known forms, printable, and not endless."""
    text = masked(text[: 2 * LONGEST_SHOWN])
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
