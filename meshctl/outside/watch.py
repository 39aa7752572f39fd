"""Ends an HTTP question on time, whatever it is waiting for then."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any, Protocol


class Guard(Protocol):
    """Whoever is shown each connection that is made."""

    def guard(self, connected: socket.socket) -> None: ...


class Watch:
    """Shuts the connections of one question when its time is over, whatever it waits for then.

    A socket's own timeout starts anew with every byte, so an answer that dribbles never meets it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.late = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True

    def __enter__(self) -> Watch:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def guard(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.append(connected)
            if self.late:
                _shut(connected)

    def _ring(self) -> None:
        with self._lock:
            self.late = True
            for connected in self._sockets:
                _shut(connected)


class Relief:
    """The connections of a session that is kept, shown to the watch of each question in turn."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._sockets: list[socket.socket] = []

    def guard(self, connected: socket.socket) -> None:
        self._sockets = [known for known in self._sockets if known.fileno() >= 0] + [connected]
        self._watch.guard(connected)

    def hand_over(self, watch: Watch) -> None:
        """From here on it is this watch's question."""
        self._watch = watch
        for connected in self._sockets:
            watch.guard(connected)


def _shut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed already
        # The plain socket's shutdown: that of TLS says goodbye first, and may wait for that.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def guarded_by(watch: Guard) -> Any:
    """What requests sends through, with every connection it makes shown to the watch."""
    from requests.adapters import HTTPAdapter

    class Guarded(HTTPAdapter):
        def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
            pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
            if not hasattr(pool.ConnectionCls, "shown_to"):  # a kept session has the pool already
                pool.ConnectionCls = _shown_to(watch, pool.ConnectionCls)
            return pool

    return Guarded()


def _shown_to(watch: Guard, kind: Any) -> Any:
    class Shown(kind):  # type: ignore[misc]
        shown_to = watch

        def connect(self) -> None:
            super().connect()
            watch.guard(self.sock)

    return Shown
