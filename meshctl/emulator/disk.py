"""Files that survive a kill: JSON written beside, flushed, and renamed into place."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO


def write_json(path: Path, value: Any) -> None:
    """Write atomically: after a crash the old or the new text is there, never a part."""
    write_bytes(path, json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write atomically and flush to the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(name, path)


def read_json(path: Path, default: Any = None) -> Any:
    """The file's value, or the default where it does not exist."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return default


def read_all(folder: Path, pattern: str = "*.json") -> Iterator[Any]:
    """Every JSON file of a folder, sorted by name."""
    if folder.exists():
        for path in sorted(folder.glob(pattern)):
            if not path.name.startswith(".new-"):
                yield read_json(path)


def remove(path: Path) -> None:
    """Remove a file or a folder; one that is gone already is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def lock(path: Path) -> TextIO | None:
    """Hold the file's lock until the process ends; None when another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
