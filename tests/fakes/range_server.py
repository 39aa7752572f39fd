"""A web server that knows ranges, as much of a hub as a reader of headers meets, and its vices.

with RangeServer({"/models/tiny.gguf": data}) as server:
    ...server.url...; server.asked holds every question as (path, range, authorization)
"""

from __future__ import annotations

import contextlib
import http.server
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Asked = tuple[str, str, str]


@dataclass
class RangeServer:
    """`redirect` sends every path to another server; `token` is demanded; `vice` is one of
    `no-ranges`, `lying-range`, `changing`, `gated`, `busy`."""

    files: Mapping[str, bytes]
    redirect: str = ""
    token: str = ""
    vice: str = ""
    linked_size: int = -1
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> RangeServer:
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                world.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Nobody wants to read it."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, to: Any) -> None:
        """One question, in the way of the vice."""
        wanted, said = to.headers.get("Range", ""), to.headers.get("Authorization", "")
        self.asked.append((to.path, wanted, said))
        if self.token and said != f"Bearer {self.token}":
            return _send(to, 401, b"no", {"X-Error-Code": "RepoNotFound"})
        if self.vice == "gated":
            return _send(to, 403, b"no", {"X-Error-Code": "GatedRepo"})
        if self.vice == "busy":
            return _send(to, 429, b"", {"ratelimit": '"resolvers";r=0;t=55'})
        if self.redirect:
            where = {"Location": f"{self.redirect}{to.path}?signature=canary"}
            size = {"X-Linked-Size": str(self.linked_size)} if self.linked_size >= 0 else {}
            return _send(to, 302, b"", {**where, **size})
        data = self.files.get(to.path.partition("?")[0])
        if data is None:
            return _send(to, 404, b"", {"X-Error-Code": "EntryNotFound"})
        return self._part(to, data, wanted)

    def _part(self, to: Any, data: bytes, wanted: str) -> None:
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted)
        if self.vice == "no-ranges" or match is None:
            return _send(to, 200, data, {})
        first, last = int(match[1]), min(int(match[2]), len(data) - 1)
        if first >= len(data):
            return _send(to, 416, b"", {"Content-Range": f"bytes */{len(data)}"})
        shown = first + 1 if self.vice == "lying-range" else first
        tag = str(len(self.asked)) if self.vice == "changing" else "same"
        about = {"Content-Range": f"bytes {shown}-{last}/{len(data)}", "ETag": f'"{tag}"'}
        return _send(to, 206, data[first : last + 1], about)


def _send(to: Any, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    with contextlib.suppress(OSError):  # whoever has read enough hangs up
        to.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            to.send_header(name, value)
        to.end_headers()
        to.wfile.write(body)


@contextlib.contextmanager
def hub(files: Mapping[str, bytes], **how: Any) -> Iterator[tuple[RangeServer, RangeServer]]:
    """A hub, and the store on another origin that it redirects to."""
    with RangeServer(files) as store, RangeServer({}, redirect=store.url, **how) as front:
        yield front, store
