"""Long-running operations of Cloud Run: begun, finished once, kept over restarts."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

from meshctl.emulator import disk
from meshctl.emulator.failures import Failed, missing
from meshctl.emulator.faults import met

Operation = dict[str, Any]


class Operations:
    """Every operation by its full name; the oldest are forgotten past the limit."""

    def __init__(self, folder: Path, kept: int, interrupted_code: int) -> None:
        self._folder, self._kept = folder, kept
        rows = sorted(disk.read_all(folder), key=lambda row: row["at"])
        self._rows: dict[str, Operation] = {row["operation"]["name"]: row for row in rows}
        self._done = asyncio.Condition()
        for row in rows:
            row.setdefault("endless", False)
            if not row["operation"]["done"]:
                self._interrupt(row, interrupted_code)

    def _interrupt(self, row: Operation, code: int) -> None:
        """facts s12: a restart marks pending operations failed; the code is a setting."""
        text = "The operation was interrupted by a restart of the server."
        row["operation"] |= {"done": True, "error": {"code": code, "message": text}}
        self._save(row)

    def _save(self, row: Operation) -> None:
        disk.write_json(self._folder / f"{row['operation']['name'].split('/')[-1]}.json", row)

    @staticmethod
    def fresh(parent: str, metadata: dict[str, Any]) -> Operation:
        """An operation that is not done and not stored."""
        return {"name": f"{parent}/operations/{uuid.uuid4()}", "metadata": metadata, "done": False}

    def begin(self, parent: str, metadata: dict[str, Any], at: int) -> Operation:
        """A stored operation that is not done; an ordered fault may keep it so for ever."""
        operation = self.fresh(parent, metadata)
        row = {"at": at, "operation": operation, "endless": met.get().endless}
        self._rows[operation["name"]] = row
        self._save(row)
        self._forget_oldest()
        return operation

    def _forget_oldest(self) -> None:
        excess = len(self._rows) - self._kept
        ended = [n for n, row in self._rows.items() if row["operation"]["done"]]
        for name in ended[: max(excess, 0)]:
            self.delete(name)

    async def finish(self, name: str, outcome: dict[str, Any] | Failed) -> None:
        """Complete or fail an operation, once."""
        row = self._rows.get(name)
        if row is None or row["operation"]["done"] or row["endless"]:
            return
        operation = row["operation"]
        if isinstance(outcome, Failed):
            operation["error"] = {"code": outcome.code, "message": outcome.message}
        else:
            # facts s1: metadata and response are both the Service; it is kept once.
            operation |= {"response": outcome, "metadata": outcome}
        operation["done"] = True
        self._save(row)
        async with self._done:
            self._done.notify_all()

    def get(self, name: str) -> Operation:
        """One operation; ApiError 404."""
        if name not in self._rows:
            raise missing(f"Operation '{name}' not found.")
        operation: Operation = self._rows[name]["operation"]
        return operation

    async def wait(self, name: str, limit_s: float) -> Operation:
        """The operation when it is done or the limit has passed."""
        try:
            async with asyncio.timeout(limit_s), self._done:
                await self._done.wait_for(lambda: self.get(name)["done"])
        except TimeoutError:
            pass
        return self.get(name)

    def list(self, parent: str) -> list[Operation]:
        """Those of a location, newest first."""
        rows = [row["operation"] for row in reversed(self._rows.values())]
        return [row for row in rows if row["name"].startswith(f"{parent}/operations/")]

    def delete(self, name: str) -> None:
        """Forget an operation; ApiError 404."""
        self.get(name)
        del self._rows[name]
        disk.remove(self._folder / f"{name.split('/')[-1]}.json")
