"""Reads a log once, line by line, into what is known to have gone wrong, the root first. Pure.

Bounded whatever the log: as many findings as there are failures known, some speakers, some hundred
last lines. What decides is in `signatures/`; this only keeps the order.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator

from meshctl.engines.boot import phase_after, refines
from meshctl.engines.carried import Said, unpacked
from meshctl.engines.catalogue import (
    CATALOGUE,
    ERROR,
    FAMILIES,
    WRAPPERS,
    failure_of,
    without_prefix,
)
from meshctl.engines.engine import Signature
from meshctl.engines.finding import (
    LONGEST_SHOWN,
    Complaint,
    Finding,
    Found,
    Progress,
    begin,
    evidence,
    shown,
)
from meshctl.engines.signatures.system import SYSTEM_MILESTONES
from meshctl.engines.tells import tells

LONGEST_READ = 4096
"""Characters of a line that are looked at: what names a cause begins well before, and a pattern
may need the square of it on a line made to be slow."""
LAST_LINES = 20
"""Distinct lines shown where nothing is known; facts/serving section 8."""
MOST_SPEAKERS = 64
"""Models, or revisions, whose start is followed at once; beyond, the oldest is forgotten."""
_KEPT = 50 * LAST_LINES


class Diagnosis:
    """Feed it every line with its number, then ask."""

    def __init__(self) -> None:
        self._courses: OrderedDict[str, Progress] = OrderedDict()
        self._found: list[Found] = []
        self._complaints: OrderedDict[str, Complaint] = OrderedDict()
        self._last: deque[str] = deque(maxlen=_KEPT)
        self.lines_read = 0

    def read(self, line: str, number: int, speaker: str = "") -> None:
        """One more line, in whatever carried it."""
        self.lines_read = max(self.lines_read, number)
        for said in unpacked(line, speaker):
            if said.text:
                self._read(said._replace(text=said.text[:LONGEST_READ]), number)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The root cause first; empty where nothing of the log is known."""
        explained = {found.speaker for found in self._found if found.is_cause}
        told = (one for one in self._found if not (one.is_wrapper and one.speaker in explained))
        return tuple(found.finding() for found in sorted(told, key=Found.rank))

    @property
    def root(self) -> Finding | None:
        """The first finding that ended something: not a warning."""
        return next((found for found in self.findings if found.severity == "error"), None)

    @property
    def complaint(self) -> Complaint | None:
        """The first complaint that is not understood and was not overcome."""
        return min(self._complaints.values(), key=lambda one: one.line_number, default=None)

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last distinct lines, the oldest first, without what carried them."""
        distinct: dict[str, None] = {}
        for text in reversed(self._last):
            distinct.setdefault(shown(without_prefix(text)))
            if len(distinct) == LAST_LINES:
                break
        return tuple(reversed([text for text in distinct if text]))

    def _read(self, said: Said, number: int) -> None:
        # Cut beyond what is shown, so that no secret is cut in two and then not known.
        text = said.text[: 2 * LONGEST_SHOWN]
        if not self._last or self._last[-1] != text:
            self._last.append(text)
        if not said.grave and not tells(said.text):
            return
        course = self._course(said.speaker)
        self._follow(course, said, number)
        words = without_prefix(said.text)
        known = failure_of(words, course.phase)
        wrapper = WRAPPERS.search(said.text) is not None
        if known and (known.follows or not wrapper):
            self._know(known, course, said, words, number)
        if wrapper:
            self._wrap(said.speaker, words, number)
        elif not known and (said.grave or ERROR.search(said.text)):
            complaint = Complaint(shown(words), number)
            self._complaints.setdefault(said.speaker, complaint)
            self._bound()

    def _course(self, speaker: str) -> Progress:
        course = self._courses.setdefault(speaker, Progress())
        if len(self._courses) > MOST_SPEAKERS:
            self._courses.popitem(last=False)
        return course

    def _bound(self) -> None:
        if len(self._complaints) > MOST_SPEAKERS:
            self._complaints.popitem()

    def _follow(self, course: Progress, said: Said, number: int) -> None:
        """Move on to where the line says that the log has come."""
        before = course.phase
        course.phase = phase_after(SYSTEM_MILESTONES, said.text, course.phase)
        for family in FAMILIES:
            phase = phase_after(family.milestones, said.text, course.phase)
            if phase != course.phase:
                course.phase, course.engine = phase, family.name
        if course.phase != before:
            course.stone = evidence(number, without_prefix(said.text))
            if course.phase == "ready":
                self._settle(said.speaker, number)

    def _settle(self, speaker: str, number: int) -> None:
        for found in self._of(speaker):
            if found.signature.severity == "error" and not found.settled:
                found.settled = number
        self._complaints.pop(speaker, None)

    def _know(
        self, known: Signature, course: Progress, said: Said, words: str, number: int
    ) -> None:
        """A new finding, or one more line of one that was not overcome since."""
        open_ = [found for found in self._of(said.speaker) if not found.settled]
        again = (one for one in open_ if known.id in (one.signature.id, one.first_id))
        if found := next(again, None):
            found.again(number)
        elif first := next((one for one in open_ if refines(known, one.signature)), None):
            first.refine(known, words, number)
        elif len(self._found) < len(CATALOGUE) * 4:
            self._found.append(begin(known, course, said.speaker, words, number))

    def _wrap(self, speaker: str, words: str, number: int) -> None:
        """A complaint that only repeats an earlier one is evidence of the first."""
        for found in self._of(speaker):
            if found.is_cause:
                found.tell(evidence(number, words))
                return

    def _of(self, speaker: str) -> Iterator[Found]:
        return (found for found in self._found if found.speaker == speaker)


def diagnosed(lines: Iterable[str]) -> Diagnosis:
    """What a log of few lines shows; lines are numbered from 1."""
    diagnosis = Diagnosis()
    for number, line in enumerate(lines, 1):
        diagnosis.read(line, number)
    return diagnosis
