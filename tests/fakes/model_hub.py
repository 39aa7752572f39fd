"""A hub of models with its store on another origin: ranges, redirects, digests, and its bad days.

with ModelHub({"m.gguf": data}) as hub:
    ...hub.url is the endpoint, hub.source("m.gguf") what people write, hub.web("m.gguf") the store
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "org/models"
CHUNK = 2**16


class Content(Protocol):
    """The bytes of a file, made when they are asked for."""

    size: int

    def read(self, start: int, end: int) -> bytes: ...


class Plain:
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def read(self, start: int, end: int) -> bytes:
        return self.data[start:end]


class Zeros:
    """A large file that takes no memory: zeros."""

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self, start: int, end: int) -> bytes:
        return bytes(end - start)


def sha256_of(content: Content) -> str:
    digest = hashlib.sha256()
    for start in range(0, content.size, 2**20):
        digest.update(content.read(start, min(start + 2**20, content.size)))
    return digest.hexdigest()


@dataclass
class ModelHub:
    """What may go wrong can be changed at any time; `sent` counts the bytes that left the store,
    `asked` holds every question as (where, path, range, authorization)."""

    files: Mapping[str, bytes | Content]
    token: str = ""
    lfs: bool = True
    tag: str = '"one"'
    flip: int | None = None
    """The byte of every file that the store has wrong."""
    cut_every: int = 0
    """Every so many answers the connection breaks in the middle."""
    busy: int = 0
    """So many answers are 503 before the first good one."""
    chunk_s: float = 0.0
    before: Callable[[int], None] = lambda _: None
    """Called with the bytes sent so far before each chunk."""
    sent: int = 0
    asked: list[tuple[str, str, str, str]] = field(default_factory=list)
    callers: set[tuple[str, int]] = field(default_factory=set)
    """The other ends of the store's connections."""

    def __enter__(self) -> ModelHub:
        self.contents = {n: Plain(f) if isinstance(f, bytes) else f for n, f in self.files.items()}
        self.digests = {name: sha256_of(content) for name, content in self.contents.items()}
        self._guard = threading.Lock()
        self._servers = [_server(self._front), _server(self._store)]
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._servers[0].server_address[1]}"

    def source(self, name: str) -> str:
        return f"hub:{REPOSITORY}@{COMMIT}/{name}"

    def web(self, name: str) -> str:
        return f"http://127.0.0.1:{self._servers[1].server_address[1]}/{name}"

    def declared(self, name: str) -> dict[str, Any]:
        """As a fleet file declares it."""
        return {"bytes": self.contents[name].size, "sha256": self.digests[name]}

    def _front(self, to: Any) -> None:
        self._note("hub", to)
        name = to.path.removeprefix(f"/{REPOSITORY}/resolve/{COMMIT}/")
        if self.token and to.headers.get("Authorization", "") != f"Bearer {self.token}":
            return _answer(to, 401, {"X-Error-Code": "GatedRepo"})
        if name not in self.contents:
            return _answer(to, 404, {"X-Error-Code": "EntryNotFound"})
        if not self.lfs:
            content = self.contents[name]
            whole = content.read(0, content.size)
            git = hashlib.sha1(b"blob %d\0" % len(whole) + whole, usedforsecurity=False)
            return self._part(to, content, f'"{git.hexdigest()}"')
        about = {
            "Location": f"{self.web(name)}?signature=canary",
            "X-Linked-Etag": f'"{self.digests[name]}"',
            "X-Linked-Size": str(self.contents[name].size),
            "X-Repo-Commit": COMMIT,
        }
        return _answer(to, 302, about)

    def _store(self, to: Any) -> None:
        self._note("store", to)
        content = self.contents.get(to.path.partition("?")[0].lstrip("/"))
        if content is None:
            return _answer(to, 404, {})
        if self.busy > 0:
            self.busy -= 1
            return _answer(to, 503, {})
        return self._part(to, content, self.tag)

    def _note(self, where: str, to: Any) -> None:
        said = to.headers.get("Range", ""), to.headers.get("Authorization", "")
        with self._guard:
            self.asked.append((where, to.path, *said))
            if where == "store":
                self.callers.add(to.client_address)

    def _part(self, to: Any, content: Content, tag: str) -> None:
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", to.headers.get("Range", ""))
        assert match, "a fetch asks for ranges"
        first, last = int(match[1]), min(int(match[2]), content.size - 1)
        if first >= content.size:
            return _answer(to, 416, {"Content-Range": f"bytes */{content.size}"})
        about = {
            "Content-Range": f"bytes {first}-{last}/{content.size}",
            "Content-Length": str(last + 1 - first),
            "ETag": tag,
        }
        cut = self.cut_every and len(self.asked) % self.cut_every == 0
        end = (first + last + 1) // 2 if cut else last + 1
        with contextlib.suppress(OSError):
            _head(to, 206, about)
            for start in range(first, end, CHUNK):
                self._send(to, content, start, min(start + CHUNK, end))
            if cut:
                to.close_connection = True

    def _send(self, to: Any, content: Content, start: int, end: int) -> None:
        self.before(self.sent)
        data = bytearray(content.read(start, end))
        if self.flip is not None and start <= self.flip < end:
            data[self.flip - start] ^= 1
        time.sleep(self.chunk_s)
        to.wfile.write(data)
        with self._guard:
            self.sent += len(data)


def _head(to: Any, status: int, headers: Mapping[str, str]) -> None:
    to.send_response(status)
    for name, value in headers.items():
        to.send_header(name, value)
    to.end_headers()


def _answer(to: Any, status: int, headers: Mapping[str, str]) -> None:
    with contextlib.suppress(OSError):  # whoever was killed hangs up
        _head(to, status, {**headers, "Content-Length": "0"})


class Server(http.server.ThreadingHTTPServer):
    """One whose clients may be killed."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was reset is no news."""


def _server(answer: Callable[[Any], None]) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody wants to read it."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
