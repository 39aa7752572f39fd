"""A build's log: a local file, published to its object every so often."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from meshctl.emulator.storage.objects import Store

_EVERY_S = 0.5


class BuildLog:
    """Appends lines; `publish` copies the file to log-BUILDID.txt of the logs bucket."""

    def __init__(self, path: Path, store: Store, bucket: str | None, name: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._store, self._bucket, self._name = path, store, bucket, name
        self._fresh = True
        self._task: asyncio.Task[None] | None = None
        path.write_bytes(b"")

    def write(self, data: bytes) -> None:
        """Append output as it is."""
        with self._path.open("ab") as file:
            file.write(data)
        self._fresh = True

    def line(self, text: str) -> None:
        """Append one line."""
        self.write(text.encode() + b"\n")

    def begin(self) -> None:
        """Start to publish progressively."""
        if self._bucket is not None:
            self._task = asyncio.create_task(self._often())

    async def _often(self) -> None:
        while True:
            await self.publish()
            await asyncio.sleep(_EVERY_S)

    async def publish(self) -> None:
        """Publish what is new."""
        if self._fresh and self._bucket is not None:
            self._fresh = False
            await self._store.put_file(self._bucket, self._name, self._path, "text/plain")

    async def end(self) -> None:
        """Publish the rest and remove the local file."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.publish()
        self._path.unlink(missing_ok=True)
