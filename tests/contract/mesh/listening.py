"""Reads streams in the background, so that a test can wait for what has come so far."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import requests

from tests.contract.mesh.mesh_processes import CHAT, Mesh, wait_until

MESSAGES = [{"role": "user", "content": "Say hello."}]


class Listener:
    """One streamed request; `data` grows, `ended` says how it stopped: "clean" or "cut"."""

    def __init__(self, mesh: Mesh, model: str, **more: Any) -> None:
        self.data = b""
        self.status = 0
        self.headers: dict[str, str] = {}
        self.ended = ""
        self._url = mesh.url + CHAT
        self._body = {"model": model, "messages": MESSAGES, "stream": True} | more
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with requests.Session() as http:
            http.trust_env = False
            try:
                with http.post(self._url, json=self._body, stream=True, timeout=60) as answer:
                    self.status, self.headers = answer.status_code, dict(answer.headers)
                    for chunk in answer.iter_content(None):
                        self.data += chunk
                self.ended = "clean"
            except requests.RequestException:
                self.ended = "cut"

    def until(self, text: bytes, seconds: float = 20) -> bytes:
        """All that has come, once it holds this."""
        wait_until(lambda: text in self.data or self.ended, seconds)
        assert text in self.data, (self.ended, self.status, self.data)
        return self.data

    def all(self, seconds: float = 30) -> bytes:
        """Everything, once it is over."""
        wait_until(lambda: self.ended, seconds)
        return self.data


def blocks(data: bytes) -> list[str]:
    """The events and comments of a stream, in their order."""
    assert data.endswith(b"\n\n"), data
    return data.decode().split("\n\n")[:-1]


def comments(data: bytes) -> list[str]:
    return [block for block in blocks(data) if block.startswith(":")]


def events(data: bytes) -> list[dict[str, Any]]:
    """The JSON of every event but [DONE]; nothing else is among them."""
    shown = [block for block in blocks(data) if not block.startswith(":")]
    assert all(block.startswith("data: ") and "\n" not in block for block in shown), shown
    return [json.loads(block[6:]) for block in shown if block != "data: [DONE]"]


def words(data: bytes) -> str:
    """What the model said."""
    deltas = [choice["delta"] for event in events(data) for choice in event.get("choices", [])]
    return "".join(delta.get("content") or "" for delta in deltas)


def error_of(data: bytes) -> dict[str, Any]:
    """The error of the last event, which nothing follows."""
    error: dict[str, Any] = events(data)[-1]["error"]
    assert b"[DONE]" not in data
    return error


def raw(mesh: Mesh, model: str, **more: Any) -> socket.socket:
    """A connection on which a streamed request was sent, and nothing read."""
    parts = urlsplit(mesh.url)
    assert parts.hostname and parts.port
    body = json.dumps({"model": model, "messages": MESSAGES, "stream": True} | more).encode()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((parts.hostname, parts.port))
    head = f"POST {CHAT} HTTP/1.1\r\nHost: m\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def until(connection: socket.socket, part: bytes) -> bytes:
    """Reads on until `part` was sent: head and body may come in one reading or in several."""
    connection.settimeout(20)
    data = b""
    while part not in data:
        more = connection.recv(2**16)
        assert more, f"the mesh hung up before {part!r}: {data!r}"
        data += more
    return data
