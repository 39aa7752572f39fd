"""Startup probes: wait until an instance is ready, or say why it never was."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

FIRST_PAUSE_S = 0.02  # polled faster than declared, so that ready is seen at once
LONGEST_PAUSE_S = 0.5

# facts s1: what the server fills in where the container names no startup probe.
DEFAULT: dict[str, Any] = {
    "timeoutSeconds": 240,
    "periodSeconds": 240,
    "failureThreshold": 1,
    "tcpSocket": {},
}


def budget_s(probe: dict[str, Any]) -> float:
    """Seconds until the probe gives up: initial delay plus period times threshold."""
    period = probe.get("periodSeconds", 10)
    delay = probe.get("initialDelaySeconds", 0)
    return float(delay + period * probe.get("failureThreshold", 3))


async def until_ready(probe: dict[str, Any], port: int, cap_s: float) -> bool:
    """Ask until the first success; False when the budget (capped) has run out."""
    probe = probe or DEFAULT
    try:
        async with asyncio.timeout(min(budget_s(probe), cap_s)):
            await asyncio.sleep(min(probe.get("initialDelaySeconds", 0), cap_s))
            pause = FIRST_PAUSE_S
            longest = min(LONGEST_PAUSE_S, float(probe.get("periodSeconds", 10)))
            while not await _ask(probe, port):
                await asyncio.sleep(pause)
                pause = min(pause * 1.3, longest)
    except TimeoutError:
        return False
    return True


async def _ask(probe: dict[str, Any], port: int) -> bool:
    limit = float(probe.get("timeoutSeconds", 1) or 1)
    try:
        async with asyncio.timeout(limit):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        return False
    with contextlib.closing(writer):
        # A connection from the port to itself succeeds although nobody listens.
        if writer.get_extra_info("sockname") == writer.get_extra_info("peername"):
            return False
        if "httpGet" not in probe:
            return True
        try:
            async with asyncio.timeout(limit):
                return await _http_ok(probe["httpGet"], port, reader, writer)
        except (OSError, TimeoutError, ValueError, IndexError):
            return False


async def _http_ok(
    get: dict[str, Any], port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    headers = "".join(f"{h['name']}: {h.get('value', '')}\r\n" for h in get.get("httpHeaders", []))
    head = f"GET {get.get('path') or '/'} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    writer.write(f"{head}{headers}Connection: close\r\n\r\n".encode())
    line = await reader.readline()
    return 200 <= int(line.split()[1]) < 400
