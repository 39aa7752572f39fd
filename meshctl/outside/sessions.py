"""Remembers open upload sessions on this machine, so that the next process carries on where one
was killed.

A session's URL lets whoever has it write the object, so its file is for the owner's eyes only; it
never leaves this machine, for the bytes that are still missing lie here too.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from meshctl.errors import Refused


@dataclass(frozen=True)
class Kept:
    """The session of one object, as far as this machine remembers one."""

    path: Path
    name: str

    @property
    def url(self) -> str | None:
        """The session that is open for this object; None when there is none."""
        try:
            found = json.loads(self.path.read_bytes())
            return str(found["session"]) if found["name"] == self.name else None
        except (OSError, ValueError, TypeError, KeyError):
            return None  # none yet, or a file cut short by a crash: a new session costs only time

    def keep(self, url: str) -> None:
        """Remember the session; it is on disk when this returns, for a power cut may be next."""
        text = json.dumps({"name": self.name, "session": url}).encode()
        beside = self.path.with_suffix(".new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            os.fsync(file.fileno())
        beside.replace(self.path)

    def forget(self) -> None:
        """The upload is complete, or its session is over."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Sessions:
    """The folder of remembered sessions."""

    folder: Path

    @contextlib.contextmanager
    def held(self, name: str) -> Iterator[Kept]:
        """The session of an object, for one process at a time.

        Raises Refused while another process on this machine sends the same object.
        """
        path = self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refused(
                    "another meshctl on this machine uploads the same context now",
                    place=name,
                    hint="wait for it; then build again, which follows its build",
                ) from None
            yield Kept(path, name)
