"""Orders the mesh in front of a host: who is behind it, who serves, and when requests are held."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from meshctl.errors import MeshctlError, Refused, Unreachable, UsageError
from meshctl.outside.clock import Clock
from meshctl.outside.http import LARGEST_ANSWER
from meshctl.outside.watch import Watch
from meshctl.spec.registry import Entry
from meshctl.spec.switch import (
    Backend,
    Drained,
    DrainOrder,
    Health,
    Outcome,
    PauseOrder,
    SwitchOrder,
    SwitchState,
)

ANSWER_S = 15.0
"""For what the mesh need not wait for, keeping the list of backends on a slow disk included; and
what an answer may be late after all that was waited for."""
RESTART_S = 30.0
"""For a mesh that was killed in the middle of a switch to be there again."""
PAUSE_S = 0.3
M = TypeVar("M", bound=Entry)


@dataclass(frozen=True)
class Said:
    """What an admin socket answered."""

    status: int
    body: bytes


class Lost(Unreachable):
    """No whole answer came to a question that may have arrived."""


class Door(Protocol):
    """The way to one admin socket. `place` names it for people."""

    @property
    def place(self) -> str: ...

    def send(self, method: str, path: str, body: bytes | None, *, timeout_s: float) -> Said:
        """The answer. Raises Unreachable where the question did not arrive, Lost where it may."""
        ...


class UnixDoor:
    """An admin socket on this machine."""

    def __init__(self, path: str) -> None:
        self.place = path

    def send(self, method: str, path: str, body: bytes | None, *, timeout_s: float) -> Said:
        with Watch(timeout_s) as watch, closing(self._connected(timeout_s)) as connected:
            watch.guard(connected)
            try:
                return _exchanged(connected, method, path, body)
            except (OSError, http.client.HTTPException, OverflowError) as error:
                late = watch.late or isinstance(error, TimeoutError)
                why = f"no whole answer within {timeout_s:g} s" if late else _words(error)
                raise Lost(why, hint=_ASK, place=self.place) from error

    def _connected(self, timeout_s: float) -> socket.socket:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connected.settimeout(timeout_s)
        try:
            connected.connect(self.place)
        except OSError as error:
            connected.close()
            raise Unreachable(
                f"no mesh listens there: {error.strerror or error}",
                hint="start the front, or name the socket that it was started with",
                place=self.place,
            ) from error
        return connected


_ASK = "read who serves from the same socket before anything is changed"


class _Connection(http.client.HTTPConnection):
    """HTTP over what is connected already."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__("mesh")
        self.sock = connected


def _exchanged(connected: socket.socket, method: str, path: str, body: bytes | None) -> Said:
    connection = _Connection(connected)
    headers: Mapping[str, str] = {"Connection": "close", "Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    with connection.getresponse() as answer:
        read = answer.read(LARGEST_ANSWER + 1)
        if len(read) > LARGEST_ANSWER:
            raise http.client.HTTPException(f"an answer of more than {LARGEST_ANSWER} bytes")
        if answer.length != 0:  # http.client takes half an answer for a whole one
            raise http.client.HTTPException("half an answer")
        return Said(answer.status, read)


def _words(error: BaseException) -> str:
    return f"the mesh hung up: {error or type(error).__name__}"


class Front:
    """The mesh in front of one host. Refused: it said no, and nothing was changed. Unreachable: it
    did not answer, or not in a way that can be read."""

    def __init__(self, door: Door, clock: Clock) -> None:
        self._door = door
        self._clock = clock

    def state(self) -> SwitchState:
        """Who serves, who is known, what is held. Raises Unreachable."""
        return self._ask(SwitchState, "GET", "/state")

    def add(self, backend: Backend) -> SwitchState:
        """Makes a backend known; again is no mistake. Raises Refused, Unreachable."""
        return self._ask(SwitchState, "POST", "/backends", backend)

    def remove(self, name: str) -> SwitchState:
        """Forgets a backend that answers nobody. Raises Refused, Unreachable."""
        return self._ask(SwitchState, "DELETE", f"/backends/{quote(name, safe='')}")

    def check(self, name: str) -> Health:
        """Whether a backend is ready now. Raises Refused, Unreachable."""
        return self._ask(Health, "GET", f"/backends/{quote(name, safe='')}/check")

    def pause(self, hold_at_most_s: float) -> SwitchState:
        """Holds what comes from now on; it ends by itself. Raises Refused, Unreachable."""
        return self._ask(SwitchState, "POST", "/pause", PauseOrder(hold_at_most=hold_at_most_s))

    def resume(self) -> SwitchState:
        """Lets what is held go to who is active. Raises Refused, Unreachable."""
        return self._ask(SwitchState, "POST", "/resume")

    def drain(self, backend: str | None, at_most_s: float) -> Drained:
        """Waits until a backend, or the active one, answers nobody. Raises Refused, Unreachable."""
        order = DrainOrder(backend=backend, at_most=at_most_s)
        return self._ask(Drained, "POST", "/drain", order, waits_s=at_most_s)

    def switch(self, order: SwitchOrder) -> Outcome:
        """Puts a backend in the place of the active one, and says how that ended.

        An answer that is lost is asked for again, over a restart of the mesh, too; where nobody
        knows it any more the outcome is `unknown`, with who serves now. Raises Refused, and
        Unreachable where the order did not arrive.
        """
        waits_s = order.check_at_most + order.hold_at_most + order.drain_at_most
        until = self._clock.monotonic() + waits_s + RESTART_S
        try:
            return self._ask(Outcome, "POST", "/switch", order, waits_s=waits_s)
        except Lost as lost:
            return self._found(order, until, lost)

    def _found(self, order: SwitchOrder, until: float, lost: Lost) -> Outcome:
        why = lost.message
        while self._clock.monotonic() < until:
            try:
                said = self._send("GET", f"/switch/{order.operation}")
            except Unreachable as error:
                why = error.message
            else:
                if said.status == 200:
                    return self._read(Outcome, said)
                if said.status == 404:
                    why = f"{lost.message}; it knows nothing of operation {order.operation} now"
                    return _unknown(order, why, self.state().active)
            self._clock.sleep(PAUSE_S)
        return _unknown(order, f"{why}; who serves is not known either", None)

    def _ask(
        self, kind: type[M], method: str, path: str, order: Entry | None = None, waits_s: float = 0
    ) -> M:
        body = order.model_dump_json().encode() if order else None
        return self._read(kind, self._send(method, path, body, waits_s))

    def _send(self, method: str, path: str, body: bytes | None = None, waits_s: float = 0) -> Said:
        return self._door.send(method, path, body, timeout_s=waits_s + ANSWER_S)

    def _read(self, kind: type[M], said: Said) -> M:
        if said.status != 200:
            raise self._error(said)
        try:
            return kind.model_validate_json(said.body)
        except ValidationError as error:
            raise self._unreadable(f"{error.error_count()} mistakes in {kind.__name__}") from None

    def _error(self, said: Said) -> MeshctlError:
        """What a refusal means here: a mesh that stops (503) may have done what was ordered."""
        message = _message(said.body)
        if message is None:
            return self._unreadable(f"status {said.status}")
        if said.status == 400:
            return UsageError(message, hint="correct the order", place=self._door.place)
        if said.status in (404, 409):
            return Refused(message, hint="read the state of the front", place=self._door.place)
        return Lost(message, hint=_ASK, place=self._door.place)

    def _unreadable(self, what: str) -> Lost:
        return Lost(f"the answer cannot be read: {what}", hint=_ASK, place=self._door.place)


def _message(body: bytes) -> str | None:
    """What an envelope says, as one bounded line; None for what is none."""
    try:
        document = json.loads(body)
        message = document["error"]["message"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if not isinstance(message, str):
        return None
    return "".join(c if c.isprintable() else " " for c in message[:1000])


def _unknown(order: SwitchOrder, why: str, active: str | None) -> Outcome:
    return Outcome(
        operation=order.operation, to=order.to, outcome="unknown", why=why, active=active, was=None
    )
