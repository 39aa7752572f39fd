"""A store that dies round its N-th write: for crash drills only."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

from meshctl.errors import UsageError
from meshctl.outside.objects import ObjectStore, Stored


class DrillStore:
    """A store that dies round its N-th write: `before:N` or `after:N`. For crash drills only.

    Every promise of resume is tested by it: the process is gone before, or just after, the write
    that would have recorded where it was.
    """

    def __init__(
        self, inner: ObjectStore, when: str, die: Callable[[], None] | None = None
    ) -> None:
        side, _, number = when.partition(":")
        if side not in ("before", "after") or not number.isdigit():
            raise UsageError(f"MESHCTL_DRILL is {when!r}", hint="write before:N or after:N")
        self.inner, self.side, self.left = inner, side, int(number)
        self.die = die or _die

    def read(self, key: str) -> Stored | None:
        return self.inner.read(key)

    def list(self, prefix: str) -> list[str]:
        return self.inner.list(prefix)

    def create(self, key: str, data: bytes) -> str | None:
        with self._drill():
            return self.inner.create(key, data)

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        return self.inner.replace(key, data, generation)

    def delete(self, key: str, generation: str) -> bool:
        return self.inner.delete(key, generation)

    @contextlib.contextmanager
    def _drill(self) -> Iterator[None]:
        self.left -= 1
        if self.left == 0 and self.side == "before":
            self.die()
        yield
        if self.left == 0 and self.side == "after":
            self.die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
