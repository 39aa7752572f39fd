"""Takes the answer to `look` apart by its unguessable token. Pure."""

from __future__ import annotations

from typing import NamedTuple

from meshctl.targets.podman.readings.value import Unknown, unknown

_LATE = "did not answer in time"
_ENDS = {"absent": "was not heard", "127": "is not installed", "124": _LATE, "137": _LATE,
         "late": _LATE}  # fmt: skip


class Section(NamedTuple):
    """What one tool said, and its exit status (`late` when it had none by then)."""

    name: str
    rc: str
    text: str

    def why_not(self, tool: str) -> Unknown:
        """Why there is no value in it."""
        if self.rc == "0":
            return unknown(f"what {tool} said is not understood", self.text)
        return unknown(f"{tool} {_ENDS.get(self.rc, f'failed with {self.rc}')}", self.text)


ABSENT = "absent"


class Sections:
    """The sections of one answer; one that is missing is as good as a tool that said nothing."""

    def __init__(self, text: str, token: str) -> None:
        self._found: dict[str, Section] = {}
        for part in f"\n{text}".split(f"\n{token} section ")[1:] if token else ():
            head, _, body = part.partition("\n")
            name, _, rc = head.partition(" ")
            self._found[name] = Section(name, rc.strip(), body.strip("\n"))

    def __getitem__(self, name: str) -> Section:
        return self._found.get(name, Section(name, ABSENT, ""))

    def under(self, prefix: str) -> tuple[Section, ...]:
        """Every section whose name begins so, in the order of the answer."""
        return tuple(one for name, one in self._found.items() if name.startswith(prefix))

    @property
    def whole(self) -> bool:
        """False: the answer was cut, by a lost link or a bound."""
        return "end" in self._found
