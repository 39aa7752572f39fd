"""What a lane is told, and what it wants done: its events and its effects. Pure.

Times are seconds on one clock that never goes back; requests are numbers that rise.
"""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.mesh.waiting import Stays, Waiting


@dataclass(frozen=True)
class Asked:
    """A request for a model arrived."""

    at: float
    request: int
    model: str


@dataclass(frozen=True)
class Left:
    """A request is over, however: answered, or its client went away, waiting or served."""

    at: float
    request: int


@dataclass(frozen=True)
class Wanted:
    """A model is to be loaded without a request, if nothing has to go for it."""

    at: float
    model: str


@dataclass(frozen=True)
class Unload:
    """Somebody asks for the end of a model's engine."""

    at: float
    model: str


@dataclass(frozen=True)
class Loaded:
    """An engine is ready."""

    at: float
    model: str


@dataclass(frozen=True)
class Ended:
    """An engine that nobody stopped ended, or never got ready; some of it may still be there."""

    at: float
    model: str
    why: str


@dataclass(frozen=True)
class Gone:
    """Nothing is left of an engine: no process, and so no memory of the card."""

    at: float
    model: str


@dataclass(frozen=True)
class Tick:
    """Time has passed; the answer to a Wake."""

    at: float


Event = Asked | Left | Wanted | Unload | Loaded | Ended | Gone | Tick


@dataclass(frozen=True)
class Grant:
    """The request has its turn: the engine serves it until it leaves."""

    request: int


@dataclass(frozen=True)
class RefuseDown:
    """The request cannot be served, and why."""

    request: int
    why: str


@dataclass(frozen=True)
class RefuseFull:
    """The request may not wait: the queue is full."""

    request: int
    retry_after_s: int


@dataclass(frozen=True)
class Tell:
    """The request waits, and where it stands has changed."""

    request: int
    waiting: Waiting


@dataclass(frozen=True)
class Start:
    """Load the model; Loaded or Ended comes back, and Gone after everything else."""

    model: str


@dataclass(frozen=True)
class Stop:
    """End the engine, or its load; Gone comes back. `for_model` is whom it makes way for."""

    model: str
    for_model: str | None = None


@dataclass(frozen=True)
class Keep:
    """The engine that somebody asked to end stays, and why."""

    model: str
    why: Stays


@dataclass(frozen=True)
class Wake:
    """Send a Tick at this time, instead of the one that was asked for before."""

    at: float


Effect = Grant | RefuseDown | RefuseFull | Tell | Start | Stop | Keep | Wake
