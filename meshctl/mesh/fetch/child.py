"""Fetches the payload of a model: `meshctl payload fetch` as a child, a file at a time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from meshctl.errors import CheckFailed, Unreachable
from meshctl.mesh.child import deathbound, lines_of
from meshctl.mesh.launch import Launch, Source
from meshctl.mesh.log import Log

LONGEST_WAIT = "6h"
"""For another process that fetches the same file into the same folder."""


class Wrong(Unreachable):
    """The source has other bytes than were declared: asking again soon brings the same."""


async def bring(launch: Launch, environ: Mapping[str, str], log: Log) -> None:
    """Returns when every file is in its place, proved. Raises Unreachable with the reason.

    Cancelled, it kills the child at once: whatever was fetched is kept for the next one.
    """
    for source in launch.sources:
        await _bring(launch.model, source, environ, log)


async def _bring(model: str, source: Source, environ: Mapping[str, str], log: Log) -> None:
    process = await _spawn(source, environ)
    assert process.stdout and process.stderr
    told = asyncio.create_task(process.stdout.read())
    try:
        async for line in lines_of(process.stderr):
            log.engine(model, line)
        code = await process.wait()
        if code:
            raise _failed(model, source, code, await told)
    finally:
        told.cancel()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _spawn(source: Source, environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Tokens are in the environment, never in the arguments."""
    words = ("-o", "json", "--lock-wait", LONGEST_WAIT, "payload", "fetch", source.url)
    where = (f"--to={source.path.parent}", f"--size={source.bytes}", f"--sha256={source.sha256}")
    try:
        return await asyncio.create_subprocess_exec(
            *deathbound(), sys.executable, "-m", "meshctl", *words, *where, "--progress",
            env={name: value for name, value in environ.items() if name != "PORT"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise Unreachable(f"no payload can be fetched: {error.strerror}") from None


def _failed(model: str, source: Source, code: int, told: bytes) -> Unreachable:
    """What the child says of itself, else how it ended. Its hint is for whoever types commands; in
    a container it would be the last line, which a rollout takes for the reason."""
    error = _error(told)
    why = str(error.get("message") or f"the fetch exited with code {code}")
    name = source.path.name
    kind = Wrong if code == CheckFailed.exit_code else Unreachable
    return kind(
        f"the payload of {model} could not be fetched: {'' if name in why else f'{name}: '}{why}",
        place=model,
    )


def _error(told: bytes) -> dict[str, Any]:
    try:
        found = json.loads(told)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("kind") == "error/v1" else {}
