"""A line to a server that carries so many bytes and then stands still, as lines do.

with StallingLine(url, carries=44 * MB) as line:
    ...line.url is where to go, line.stalled is set when the last byte it carries is through
"""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit


class StallingLine:
    """Counts what callers send; answers pass freely until it stands still."""

    def __init__(self, url: str, carries: int) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "", parts.port or 80)
        self._left, self._guard = carries, threading.Lock()
        self.stalled, self._over = threading.Event(), threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> StallingLine:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes who waits for a caller
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                for one, other, counted in ((caller, server, True), (server, caller, False)):
                    threading.Thread(
                        target=self._carry, args=(one, other, counted), daemon=True
                    ).start()

    def _carry(self, one: socket.socket, other: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(2**16):
                if counted and not self._may_pass(len(data)):
                    self._over.wait()
                    break
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _may_pass(self, count: int) -> bool:
        with self._guard:
            self._left -= count
            if self._left < 0:
                self.stalled.set()
            return self._left >= 0
