"""What a client is told while it waits for the first word: comments, or chunks that say nothing.
Pure.

Comments are what the standard has for it. Some clients break on them; for those a model can be set
to `keepalive: chunk`, where one id runs through the whole stream: accumulators drop what changes
its id half way. `off` says nothing at all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from meshctl.mesh.framing import Rewrite


class Filler(Protocol):
    """The words of the wait, each a whole event of the stream; empty ones are not sent."""

    def accepted(self, ahead: int) -> bytes:
        """The first word: the request is taken, and so many are before it."""

    def position(self, ahead: int) -> bytes:
        """So many are before it now."""

    def keep_alive(self) -> bytes:
        """It still waits."""

    @property
    def rewrite(self) -> Rewrite | None:
        """Makes a chunk of the engine continue what was said here; None where nothing has to."""


class Comments:
    """Lines that begin with a colon, which clients must ignore."""

    rewrite = None

    def accepted(self, ahead: int) -> bytes:
        return f": accepted; queued position {ahead}\n\n".encode()

    def position(self, ahead: int) -> bytes:
        return f": queued position {ahead}\n\n".encode()

    def keep_alive(self) -> bytes:
        return b": keep-alive\n\n"


@dataclass(frozen=True)
class Chunks:
    """Chunks whose delta is empty; they share id, time and model with all that follow."""

    id: str
    created: int
    model: str
    chat: bool

    def accepted(self, ahead: int) -> bytes:
        return self.keep_alive()

    def position(self, ahead: int) -> bytes:
        return b""

    def keep_alive(self) -> bytes:
        said: dict[str, Any] = {"delta": {}} if self.chat else {"text": ""}
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        choice = {"index": 0, **said, "finish_reason": None}
        chunk = self.rewrite({"object": kind, "choices": [choice]})
        return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"

    def rewrite(self, event: dict[str, Any]) -> dict[str, Any]:
        if "choices" not in event:
            return event
        return event | {"id": self.id, "created": self.created, "model": self.model}
