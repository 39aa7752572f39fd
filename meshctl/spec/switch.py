"""What is said over the admin socket of a mesh: backends, orders, and how a switch ended. Pure.

The mesh reads these and writes them, and so does whoever deploys to the host it stands on.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from meshctl.spec.federation import BASE_URL, PEER_NAME
from meshctl.spec.registry import LONGEST_S, Entry, Name, Seconds

READY_PATH = r"^/[A-Za-z0-9._~/-]{0,199}$"
OPERATION = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
MOST_BACKENDS = 32
MOST_MODELS = 256

End = Literal["switched", "refused", "restored", "unknown"]
"""switched: `to` serves, and will after a restart. refused: nothing was changed, a pause that
somebody made included. restored: requests were held, and then given back to who served before.
unknown: nobody can say what a restart would find; `active` is who serves now."""
StepEnd = Literal["done", "skipped", "failed", "unfinished"]


def _without_slash(url: str) -> str:
    if url.endswith("/"):
        raise ValueError(f"{url!r} must not end with a slash")
    return url


BackendName = Annotated[str, Field(pattern=PEER_NAME)]
OperationId = Annotated[str, Field(pattern=OPERATION)]
Wait = Annotated[Seconds, Field(ge=0, le=LONGEST_S, allow_inf_nan=False)]


class Backend(Entry):
    """A server of the OpenAI routes that a front may put its requests to; the first of its models
    answers a request that names none."""

    name: BackendName
    url: Annotated[str, AfterValidator(_without_slash)] = Field(pattern=BASE_URL, max_length=500)
    models: tuple[Name, ...] = Field(min_length=1, max_length=MOST_MODELS)
    context: int | None = Field(default=None, ge=1)
    ready: str = Field(default="/health", pattern=READY_PATH)
    keepalive: Literal["comment", "chunk", "off"] = "comment"


class SwitchOrder(Entry):
    """Puts one backend in the place of another. The same operation is done once, however often it
    is ordered. Waits are seconds, or text with a unit."""

    operation: OperationId
    to: BackendName
    check: bool = True
    """False: take it without asking whether it is ready."""
    check_at_most: Wait = 30.0
    hold_at_most: Wait = 60.0
    """Also bounds what is left of a pause that began before."""
    drain_at_most: Wait = 60.0


class PauseOrder(Entry):
    """Holds requests that come from now on, until `resume`, a switch, or so long."""

    hold_at_most: Wait


class DrainOrder(Entry):
    """Waits until a backend answers nobody; the active one, where none is named."""

    backend: BackendName | None = None
    at_most: Wait


class Step(Entry):
    """One step of a switch, how it ended, and how long it took."""

    name: Literal["check", "hold", "save", "drain"]
    result: StepEnd
    seconds: float
    why: str = ""


class Outcome(Entry):
    """How a switch ended, and what was seen on the way."""

    operation: OperationId
    to: BackendName
    outcome: End
    why: str = ""
    active: BackendName | None
    """Who serves now."""
    was: BackendName | None
    """Who served when it began."""
    held: int = 0
    """Requests that were held and then answered by the active one."""
    let_down: int = 0
    """Requests that were held for too long, or that the active one has no model for: a 503 or a
    404, or the same as an event."""
    in_flight: int = 0
    """Requests that `was` still answers."""
    steps: tuple[Step, ...] = ()


class Standing(Entry):
    """One backend and what it does now."""

    backend: Backend
    in_flight: int


class SwitchState(Entry):
    """Everything there is to know of a switch at one moment."""

    active: BackendName | None
    held: int
    paused_for: float | None
    """Seconds for which requests may still be held; None where none are."""
    operation: OperationId | None
    """The switch that is under way."""
    backends: tuple[Standing, ...]


class Health(Entry):
    """What a backend said when it was asked whether it is ready."""

    name: BackendName
    ready: bool
    why: str = ""
    seconds: float


class Drained(Entry):
    """How a drain ended: with nobody left, or with so many."""

    backend: BackendName
    drained: bool
    in_flight: int
