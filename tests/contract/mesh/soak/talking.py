"""One request on one connection, and every byte that comes back, however it ends.

A client library forgets what it has not given out yet when a connection breaks; the last words
before that are what the laws of the soak are about.
"""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlsplit

from tests.contract.mesh.mesh_processes import CHAT
from tests.contract.mesh.soak.laws import Heard


class Talk:
    """A request that was sent, and what has come of the answer so far."""

    def __init__(self) -> None:
        self._raw = b""
        self._over = False

    async def hold(self, url: str, body: dict[str, object], reads_every_s: float) -> None:
        """Asks, and reads to the end of the connection."""
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            writer.write(_request(body))
            while data := await reader.read(2**16):
                self._raw += data
                await asyncio.sleep(reads_every_s)
            self._over = True
        finally:
            writer.transport.abort()

    def heard(self) -> Heard:
        """What a client makes of it."""
        head, _, body = self._raw.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") else 0
        lines = head.lower().split(b"\r\n")
        if b"transfer-encoding: chunked" in lines:
            data, whole = _joined(body)
        else:
            length = next((int(n[15:]) for n in lines if n.startswith(b"content-length:")), -1)
            data, whole = body, len(body) == length
        return Heard(status, data, ("clean" if whole else "cut") if self._over else "left")


def _request(body: dict[str, object]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: mesh\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def _joined(body: bytes) -> tuple[bytes, bool]:
    """A chunked body in one piece, and whether its end was there."""
    data = b""
    while True:
        size, end, rest = body.partition(b"\r\n")
        length = int(size or b"0", 16) if end else 0
        if not end or len(rest) < length + 2:
            return data + rest[:length], False
        if length == 0:
            return data, rest == b"\r\n"
        data, body = data + rest[:length], rest[length + 2 :]
