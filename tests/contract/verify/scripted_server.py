"""A real HTTP server on loopback that answers as it is told, down to the byte and the pause.

    with ScriptedServer({"GET /v1/models": [page(200, "{}")], "POST /v1/x": [silence]}) as server:
        ...server.url...

An answer is a list of parts: bytes are sent, numbers are waited (seconds), HANG holds the line
until the other side or the server goes away, RESET breaks the connection. The last answer of a
list is given again for ever. Anything not scripted is 404.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

HANG: Literal["hang"] = "hang"
RESET: Literal["reset"] = "reset"
Part = bytes | float | Literal["hang", "reset"]
Parts = Iterable[Part]

EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
silence: tuple[Part, ...] = (HANG,)


def page(status: int, body: str, **headers: str) -> tuple[Part, ...]:
    """A whole answer with its length."""
    named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    raw = body.encode()
    head = f"HTTP/1.1 {status} Said\r\n{named}Content-Length: {len(raw)}\r\n\r\n"
    return (head.encode() + raw,)


class ScriptedServer:
    """`heard` holds the head of every question, as text."""

    def __init__(self, script: Mapping[str, Sequence[Parts]]) -> None:
        self._script = {question: list(answers) for question, answers in script.items()}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=32)
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.heard: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> ScriptedServer:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(timeout=5)

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._converse, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = _read_question(connection)
            for part in self._next(head):
                if self._closing.is_set() or not self._perform(connection, part):
                    return

    def _next(self, head: str) -> Parts:
        with self._lock:
            self.heard.append(head)
            answers = self._script.get(" ".join(head.split(" ", 2)[:2]), [page(404, "Not Found")])
            return answers.pop(0) if len(answers) > 1 else answers[0]

    def _perform(self, connection: socket.socket, part: Part) -> bool:
        if part == RESET:
            linger = struct.pack("ii", 1, 0)  # close with a reset instead of a goodbye
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            return False
        if part == HANG:
            connection.settimeout(0.05)
            while not self._closing.is_set():
                with contextlib.suppress(TimeoutError):
                    if not connection.recv(1024):
                        return False
        elif isinstance(part, bytes):
            connection.sendall(part)
        else:
            self._closing.wait(float(part))
        return True


def _read_question(connection: socket.socket) -> str:
    connection.settimeout(5)
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = raw.partition(b"\r\n\r\n")
    text = head.decode("latin-1")
    lengths = [line for line in text.lower().split("\r\n") if line.startswith("content-length:")]
    left = (int(lengths[0].split(":")[1]) if lengths else 0) - len(body)
    while left > 0:
        left -= len(connection.recv(65536)) or left
    return text
