"""Faults ordered up by tests: slow and wrong answers, lost ones, work that never ends.

An order names requests by method and path and says how often it strikes. What it does to a request
is met before the request is carried out (`meet`); what the request then begins, an operation or a
revision, asks `met` whether it may end.
"""

from __future__ import annotations

import asyncio
import random
import re
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from meshctl.emulator.failures import CODES, ApiError, invalid

LATENCY, STATUS, CUT, DROP, ENDLESS, UNREADY = (
    "latency",
    "status",
    "cut",
    "drop",
    "endless",
    "unready",
)
KINDS = {
    LATENCY: "the answer comes so many seconds late",
    STATUS: "an error is answered and nothing is done",
    CUT: "the connection is cut and nothing is done",
    DROP: "it is done, and the answer is lost",
    ENDLESS: "it is done, and its operation never ends",
    UNREADY: "the revision it makes never gets ready; with seconds it fails after them",
}
_DECIDES = (STATUS, CUT, DROP)
"""Of these at most one strikes a request; the next order waits for the next request."""


@dataclass
class Fault:
    """One order: which requests, what to do to them, which of the matching ones, how often."""

    do: str
    method: str = ""
    path: str = ""
    seconds: float = 0.0
    status: int | None = None
    error_status: str = "UNAVAILABLE"
    times: int | None = 1
    after: int = 0
    every: int = 1
    probability: float = 1.0
    seed: int | None = None
    seen: int = 0
    hits: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    @property
    def spent(self) -> bool:
        """Whether it has struck as often as it was told to."""
        return self.times is not None and self.hits >= self.times

    def takes(self, method: str, path: str) -> bool:
        """Whether this request is struck; counts it."""
        if self.spent or (self.method and self.method.upper() != method):
            return False
        if not re.search(self.path, path):
            return False
        self.seen += 1
        past = self.seen - self.after
        struck = past > 0 and past % self.every == 0 and self._rng.random() < self.probability
        self.hits += struck
        return struck


@dataclass(frozen=True)
class Met:
    """What the orders do to one request beyond delaying or refusing it."""

    cut: bool = False
    lost: bool = False
    endless: bool = False
    unready_s: float | None = None  # 0 = never ready, else it fails after so many seconds


_NOTHING = Met()
met: ContextVar[Met] = ContextVar("met", default=_NOTHING)
"""Of the request being carried out. The state changes read it here, whichever API calls them."""


@dataclass
class Faults:
    """The orders in force, oldest first."""

    orders: list[Fault] = field(default_factory=list)

    def order(self, body: dict[str, Any]) -> Fault:
        """Take an order; ApiError 400 when it is not understood."""
        fault = _read(body)
        self.orders.append(fault)
        return fault

    def clear(self) -> None:
        """Drop all orders. Operations and revisions that were struck stay as they are."""
        self.orders.clear()

    def listing(self) -> list[dict[str, Any]]:
        """The orders as JSON, with how many requests they saw and struck."""
        return [asdict(fault) for fault in self.orders]

    async def meet(self, method: str, path: str) -> None:
        """Let a request meet its faults; ApiError for an ordered one. Sets `met`."""
        struck = self._striking(method, path)
        self.orders = [fault for fault in self.orders if not fault.spent]
        met.set(_met(struck))
        await asyncio.sleep(sum(fault.seconds for fault in struck if fault.do == LATENCY))
        for fault in struck:
            if fault.do == STATUS:
                text = "Fault ordered by a test."
                raise ApiError(fault.error_status, text, http=fault.status)

    def _striking(self, method: str, path: str) -> list[Fault]:
        struck: list[Fault] = []
        for fault in self.orders:
            decided = any(other.do in _DECIDES for other in struck)
            if not (decided and fault.do in _DECIDES) and fault.takes(method, path):
                struck.append(fault)
        return struck


def _met(struck: list[Fault]) -> Met:
    kinds = {fault.do for fault in struck}
    unready = [fault.seconds for fault in struck if fault.do == UNREADY]
    return Met(CUT in kinds, DROP in kinds, ENDLESS in kinds, unready[0] if unready else None)


_COUNTS = ("seen", "hits")
_TYPES: dict[str, tuple[type, ...]] = {
    "do": (str,),
    "method": (str,),
    "path": (str,),
    "error_status": (str,),
    "seconds": (int, float),
    "probability": (int, float),
    "after": (int,),
    "every": (int,),
    "status": (int, type(None)),
    "times": (int, type(None)),
    "seed": (int, type(None)),
}


def _read(body: dict[str, Any]) -> Fault:
    known = [f.name for f in fields(Fault) if f.name not in _COUNTS]
    if set(body) - set(known) or body.get("do") not in KINDS:
        raise invalid(f"A fault has the keys {sorted(known)}, do = {tuple(KINDS)}.")
    for name, value in body.items():
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
            raise invalid(f"{name} has the wrong type: {value!r}.")
    if body.get("error_status", "UNAVAILABLE") not in CODES:
        raise invalid(f"error_status must be one of {sorted(CODES)}.")
    try:
        re.compile(body.get("path", ""))
    except re.error as err:
        raise invalid(f"path is not a regular expression: {err}") from err
    fault = Fault(**body)
    _in_range(fault)
    return fault


def _in_range(fault: Fault) -> None:
    """Nothing is clamped: what makes no sense is refused."""
    if fault.every < 1 or fault.after < 0 or (fault.times is not None and fault.times < 1):
        raise invalid("every and times must be at least 1, after at least 0.")
    if not 0 < fault.probability <= 1:
        raise invalid("probability must be above 0 and at most 1.")
    if not 0 <= fault.seconds <= 3600 or (fault.do == LATENCY and not fault.seconds):
        raise invalid("seconds must be between 0 and 3600, and above 0 for latency.")
    if fault.status is not None and not 400 <= fault.status <= 599:
        raise invalid("status must be between 400 and 599.")
