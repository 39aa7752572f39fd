"""Log entries on disk: one file of JSON lines per revision, rotated once."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.moment import now_us, rfc3339

STDOUT, STDERR, REQUESTS, SYSTEM = "stdout", "stderr", "requests", "varlog/system"
Entry = dict[str, Any]


class Entries:
    """Appends to DATA/logs/entries/PROJECT/LOCATION/SERVICE/REVISION.jsonl."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder, self._limit = folder, limit_bytes

    def _file(self, origin: Origin) -> Path:
        folder = self._folder / origin.project / origin.location / origin.service
        return folder / f"{origin.revision}.jsonl"

    def write(self, origin: Origin, log: str, rows: list[Entry]) -> None:
        """Append entries of one log; each gets its instant and its id, in the order given."""
        lines = []
        for row in rows:
            stamped = {"log": log, "insertId": secrets.token_hex(8), "us": now_us(), **row}
            lines.append(json.dumps(stamped, separators=(",", ":"), ensure_ascii=False))
        path = self._file(origin)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write("".join(f"{line}\n" for line in lines))
            size = file.tell()
        if size > self._limit:
            os.replace(path, path.with_suffix(".jsonl.1"))

    def read(self, project: str, wanted: Callable[[Origin], bool]) -> Iterator[Entry]:
        """The entries of a project's wanted revisions, as the API shows them, in no order.

        Blocking.
        """
        root = self._folder / project
        seen: set[str] = set()
        # The newer file of a revision first: if it is rotated meanwhile, it is read twice, never
        # not at all.
        for path in sorted(root.glob("*/*/*.jsonl*")):
            location, service, name = path.relative_to(root).parts
            origin = Origin(project, location, service, name.partition(".jsonl")[0])
            for row in _rows(path) if wanted(origin) else ():
                if row["insertId"] not in seen:
                    seen.add(row["insertId"])
                    yield _shown(origin, row)


def _rows(path: Path) -> Iterator[Entry]:
    """The entries of a file; a line that a kill cut off is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    for line in text.split("\n"):
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _shown(origin: Origin, row: Entry) -> Entry:
    """A LogEntry; the name of its log escapes the slash, and DEFAULT is left out as proto3 does."""
    row = dict(row)
    log, stamp = row.pop("log").replace("/", "%2F"), rfc3339(row.pop("us"))
    return {
        **row,
        "logName": f"projects/{origin.project}/logs/run.googleapis.com%2F{log}",
        "resource": origin.resource(),
        "timestamp": stamp,
        "receiveTimestamp": stamp,
    }
