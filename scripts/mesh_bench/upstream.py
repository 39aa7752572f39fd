"""An engine that costs nothing: it answers at once, or a word every so often to all its streams.

python upstream.py PORT [EVERY_S]: the port may be 0, and is printed. `max_tokens` is how many words
a stream has; the model `silent` says nothing at all.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, cast

EVERY_S = 0.01
"""100 words a second: a quick model on a good card."""
NAME = "null"


def _event(value: dict[str, Any]) -> bytes:
    return chunk(b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n")


def chunk(data: bytes) -> bytes:
    """One piece of a body whose length is not known."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _piece(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": "chatcmpl-null", "object": "chat.completion.chunk", "created": 1, "model": NAME}
    return _event(head | {"choices": [choice]})


WORDS = tuple(_piece({"content": f" word{number}"}) for number in range(10))
"""Not always the same one: LiteLLM takes that for a model that has lost its way."""
END = _piece({}, "stop") + chunk(b"data: [DONE]\n\n") + chunk(b"")
_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_MESSAGE = {"role": "assistant", "content": "word"}
_COMPLETION = {
    "id": "chatcmpl-null",
    "object": "chat.completion",
    "created": 1,
    "model": NAME,
    "choices": [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
_MODELS = {"status": "ok", "object": "list", "data": [{"id": NAME, "object": "model"}]}


def _json(value: dict[str, Any]) -> bytes:
    body = json.dumps(value).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


WHOLE, OTHER = _json(_COMPLETION), _json(_MODELS)


class Engine(asyncio.Protocol):
    """One connection; `streams` is what all connections have open, and how many words are left."""

    def __init__(self, streams: dict[asyncio.Transport, int]) -> None:
        self._streams = streams
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, _: Exception | None) -> None:
        assert self._transport
        self._streams.pop(self._transport, None)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, blank, body = self._data.partition(b"\r\n\r\n")
        if not blank or len(body) < _length(head):
            return
        self._data = b""
        self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        assert self._transport
        if not head.startswith(b"POST"):
            self._transport.write(OTHER)
            return
        asked = json.loads(body)
        if asked["model"] == "silent":
            return
        if not asked.get("stream"):
            self._transport.write(WHOLE)
            return
        self._transport.write(_STREAM)
        self._streams[self._transport] = asked["max_tokens"]


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(n[15:]) for n in lines if n.startswith(b"content-length:")), 0)


async def tick(streams: dict[asyncio.Transport, int], every_s: float) -> None:
    """A word for every stream, again and again; and the end of those that have had all."""
    due = asyncio.get_running_loop().time()
    while True:
        due += every_s
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
        for transport, left in tuple(streams.items()):
            if left:
                transport.write(WORDS[left % 10])
                streams[transport] = left - 1
            else:
                transport.write(END)
                del streams[transport]


async def serve(port: int, every_s: float) -> None:
    """For ever."""
    streams: dict[asyncio.Transport, int] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Engine(streams), "127.0.0.1", port, backlog=2048)
    print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await tick(streams, every_s)


if __name__ == "__main__":
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    run(serve(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else EVERY_S))
