"""What a mesh adds to an engine's own load when one model has to go for another."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time

from .load import connect, request_of
from .subjects import HERE, OTHER_CORE, Rig, Subject, free_port, on_core


def swap_ms(rig: Rig, rounds: int) -> tuple[float, float]:
    """The best of each: an engine's load by itself, and a request that needs a model not loaded.

    Both end with the first answer, and are measured in turn. A start takes a third of a second of
    whatever else the machine does, so only the best times can be compared.
    """
    subject = rig.mesh(
        "swapping", MESH_MIN_RESIDENCY="0s", models=("null", "other"), together=False
    )
    alone, swapped = [], []
    for _ in range(rounds):
        alone.append(_alone_s())
        for model in ("other", "null"):
            swapped.append(asyncio.run(_answered_s(subject, model)))
    return min(alone) * 1000, min(swapped) * 1000


def _alone_s() -> float:
    """From the start of an engine to its first answer."""
    port = free_port()
    command = on_core(OTHER_CORE, [sys.executable, str(HERE / "upstream.py"), str(port)])
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as engine:
        while not _is_open(port):
            time.sleep(0.01)
        asyncio.run(_ask(port, "null"))
        took_s = time.perf_counter() - began
        engine.kill()
    return took_s


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def _answered_s(subject: Subject, model: str) -> float:
    began = time.perf_counter()
    await _ask(subject.port, model)
    return time.perf_counter() - began


async def _ask(port: int, model: str) -> None:
    connection = await connect(port)
    answer = await connection.ask(request_of(model=model))
    connection.close()
    assert b" 200 " in answer[:16], answer
