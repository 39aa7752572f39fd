"""Every error meshctl raises on purpose. Pure.

    MeshctlError            1    a bug, unless a subclass says otherwise
    ├── UsageError         64    the command line or the configuration cannot be acted on
    │   └── SpecError      64    the fleet file is wrong, with every place at once
    ├── Refused             8    not begun: the rules or the facts forbid it; nothing changed
    ├── LockHeld            5    somebody else is working on the service
    ├── Unreachable         6    a target, a state store or an endpoint does not answer
    ├── CheckFailed         9    the thing asked about failed its check; nothing was changed
    ├── RolledBack          3    failed, and the previous state serves again and was verified
    ├── NeedsHuman          4    failed, and the previous state is NOT fully restored
    ├── Unclear             7    neither pass nor fail: paused, `resume` or `abort`
    └── Interrupted       130    stopped by a person or a signal, and restored

Every class carries its exit code; `ui` prints message, place and hint, and never parses text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class MeshctlError(Exception):
    """An error with the place it is about and the next thing to do."""

    exit_code: ClassVar[int] = 1
    meaning: ClassVar[str] = "internal error (a bug)"

    def __init__(self, message: str, *, hint: str = "", place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.place = place


class UsageError(MeshctlError):
    """The command line or the configuration cannot be acted on."""

    exit_code = 64
    meaning = "usage or configuration error"


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a fleet file: where, which key, what, and what to do."""

    place: str
    path: str
    message: str
    hint: str = ""


class SpecError(UsageError):
    """The fleet file is wrong; `problems` holds every mistake, in the order of the file."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        first = problems[0]
        count = len(problems)
        more = f" (and {count - 1} more)" if count > 1 else ""
        where = f"{first.path}: " if first.path else ""
        super().__init__(
            f"{where}{first.message}{more}",
            hint=first.hint or "run `meshctl validate` to see every mistake",
            place=first.place,
        )
        self.problems = problems


class Refused(MeshctlError):
    """Not begun: the rules or the facts forbid it, and nothing was changed."""

    exit_code = 8
    meaning = "refused before anything changed"


class LockHeld(MeshctlError):
    """Somebody else holds the lock on the service."""

    exit_code = 5
    meaning = "lock held"


class Unreachable(MeshctlError):
    """A target, a state store or an endpoint does not answer."""

    exit_code = 6
    meaning = "target unreachable"


class CheckFailed(MeshctlError):
    """The thing asked about failed its check; nothing was changed."""

    exit_code = 9
    meaning = "the thing asked about failed its check; nothing was changed"


class RolledBack(MeshctlError):
    """The rollout failed and the previous state serves again and was verified."""

    exit_code = 3
    meaning = "rollout failed, the previous state serves again and was verified"


class NeedsHuman(MeshctlError):
    """The rollout failed and the previous state is not fully restored."""

    exit_code = 4
    meaning = "rollout failed and the previous state is NOT fully restored"


class Unclear(MeshctlError):
    """Neither pass nor fail: the rollout is paused."""

    exit_code = 7
    meaning = "unclear verdict, paused; `resume` or `abort`"


class Interrupted(MeshctlError):
    """Stopped by a person or a signal, and restored."""

    exit_code = 130
    meaning = "interrupted, and restored"


def tree() -> tuple[type[MeshctlError], ...]:
    """Every class above, the base first, in the order of their definition."""
    found: list[type[MeshctlError]] = [MeshctlError]
    for cls in found:
        found.extend(cls.__subclasses__())
    return tuple(found)
