"""A card that holds one engine: its memory is a lock that lives as long as any process of it."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path
from typing import Any

from tests.contract.mesh.mesh_processes import FAKE_ENGINE, Mesh

TAKEN = "error: out of memory: the card is taken"
_PROGRAM = f"""
import fcntl, os, signal, sys, time

card = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.set_inheritable(card, True)
try:
    fcntl.flock(card, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit({TAKEN!r})
if sys.argv[2] in ("worker", "deserter") and os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.argv[2] == "deserter":
        os.setsid()
    while True:
        time.sleep(60)
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""


def on_card(card: Path, id: str, *flags: str, habit: str = "", **more: Any) -> dict[str, Any]:
    """A model whose engine needs the whole card, and answers with its own name.

    Habits: a `worker` of it ignores SIGTERM and keeps the memory; a `deserter` leaves the group,
    too.
    """
    engine = [str(FAKE_ENGINE), "--port", "{port}", "--model", "{id}", "--reply", f"I am {id}"]
    command = [sys.executable, "-c", _PROGRAM, str(card), habit or "tidy", *engine, *flags]
    return {"id": id, "engine": "generic", "command": command} | more


def engines_of(mesh: Mesh, model: str) -> list[int]:
    """The living engine processes of one model."""
    mark = f"\0--model\0{model}\0".encode()
    return [pid for pid in mesh.engines() if mark in _command_line(pid)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_free(card: Path) -> bool:
    """Whether no process holds the card's memory any more."""
    with card.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
