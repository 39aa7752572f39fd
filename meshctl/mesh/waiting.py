"""What is said of turns: where a request stands, that no more may wait, why an engine stays.
Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from meshctl.errors import Unreachable


@dataclass(frozen=True)
class Waiting:
    """Where a request stands: queued behind others, or waiting while its engine loads."""

    phase: Literal["queued", "loading"]
    ahead: int
    """How many requests must end before this one begins; 0 when none."""


Stays = Literal["serving", "waited_for", "pinned", "not_loaded"]
"""Why an engine is not ended on request: it answers, or will as soon as it can; it is never
unloaded; there is none."""

Told = Callable[[Waiting], None]
"""Hears where a request stands, at the first wait and at every change; must not raise."""


class QueueFull(Unreachable):
    """No request more may wait; `retry_after_s` is when to ask again."""

    def __init__(self, model: str, retry_after_s: int) -> None:
        super().__init__(
            f"the queue for {model} is full",
            hint=f"ask again in {retry_after_s} s",
            place=model,
        )
        self.retry_after_s = retry_after_s
