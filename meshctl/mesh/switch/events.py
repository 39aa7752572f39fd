"""What a switch is told, and what it wants done: its events and its effects. Pure.

Times are seconds on one clock that never goes back; requests and callers are numbers that rise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meshctl.mesh.faults import Fault
from meshctl.spec.switch import Backend, Drained, Outcome, SwitchOrder, SwitchState


@dataclass(frozen=True)
class Remembered:
    """What outlives the mesh: who serves, who is known, and which switches were done, newest last.

    Backends are sorted by name.
    """

    active: str | None = None
    backends: tuple[Backend, ...] = ()
    outcomes: tuple[Outcome, ...] = ()


SaveEnd = Literal["saved", "failed", "doubtful"]
"""doubtful: it is in place, and nobody can promise that it outlives a loss of power."""


@dataclass(frozen=True)
class Asked:
    """A client's request for a model arrived."""

    at: float
    request: int
    model: str


@dataclass(frozen=True)
class Left:
    """A request is over, however: answered, refused, or its client went away."""

    at: float
    request: int


@dataclass(frozen=True)
class Add:
    """Somebody wants a backend to be known."""

    at: float
    caller: int
    backend: Backend


@dataclass(frozen=True)
class Remove:
    """Somebody wants a backend to be forgotten."""

    at: float
    caller: int
    name: str


@dataclass(frozen=True)
class Pause:
    """Somebody wants new requests to be held."""

    at: float
    caller: int
    seconds: float


@dataclass(frozen=True)
class Resume:
    """Somebody wants held requests to go on."""

    at: float
    caller: int


@dataclass(frozen=True)
class Drain:
    """Somebody wants to know when a backend answers nobody any more; None is the active one."""

    at: float
    caller: int
    name: str | None
    seconds: float


@dataclass(frozen=True)
class Order:
    """Somebody wants another backend to be active."""

    at: float
    caller: int
    order: SwitchOrder


@dataclass(frozen=True)
class Checked:
    """A backend was asked until it was ready, or until its time was over."""

    at: float
    operation: str
    ready: bool
    why: str = ""


@dataclass(frozen=True)
class Saved:
    """The answer to a Save."""

    at: float
    end: SaveEnd
    why: str = ""


@dataclass(frozen=True)
class Tick:
    """Time has passed; the answer to a Wake."""

    at: float


Event = (
    Asked | Left | Add | Remove | Pause | Resume | Drain | Order | Checked | Saved | Tick
)  # fmt: skip


@dataclass(frozen=True)
class Grant:
    """The request goes to this backend, which counts it until it leaves."""

    request: int
    backend: Backend


@dataclass(frozen=True)
class Held:
    """The request waits, and nobody has to end for it to go on."""

    request: int


@dataclass(frozen=True)
class Refuse:
    """The request cannot be answered."""

    request: int
    fault: Fault


@dataclass(frozen=True)
class Check:
    """Ask the backend until it is ready, for so many seconds; Checked comes back."""

    operation: str
    backend: Backend
    seconds: float


@dataclass(frozen=True)
class StopCheck:
    """Nobody waits for the answer any more; one that comes all the same means nothing."""


@dataclass(frozen=True)
class Save:
    """Keep this instead of what was kept before; Saved comes back, and no other Save before it."""

    kept: Remembered


@dataclass(frozen=True)
class Denied:
    """What a caller wanted is not done, and nothing was changed for it."""

    status: int
    code: str
    why: str


Answer = Outcome | Drained | SwitchState | Denied


@dataclass(frozen=True)
class Reply:
    """The answer to one caller."""

    caller: int
    answer: Answer


@dataclass(frozen=True)
class Wake:
    """Send a Tick at this time, instead of the one that was asked for before; None: no Tick."""

    at: float | None


Effect = Grant | Held | Refuse | Check | StopCheck | Save | Reply | Wake
