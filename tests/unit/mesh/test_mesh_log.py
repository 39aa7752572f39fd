"""Speaking never raises and never blocks, whoever reads the log."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from meshctl.mesh.child import LINES_AT_ONCE, lines_of
from meshctl.mesh.foreign import adopt
from meshctl.mesh.log import Log


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The reading end of a pipe that is standard error for the while.

    No fixture: pytest puts its own standard error back between set-up and test.
    """
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        yield reading
    os.close(reading)


def test_a_reader_that_stands_still_blocks_nobody_and_is_told_what_it_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with piped(monkeypatch) as reader:
        log = Log("info")
        began = time.monotonic()
        for _ in range(200):
            log.say("info", "x" * 8_000)
        took = time.monotonic() - began
        before = os.read(reader, 2**20)
        log.say("info", "read again")
        after = os.read(reader, 2**20)

    assert took < 20, "patience once, not two hundred times"
    told = (before + after).decode().splitlines()
    whole = [line for line in told if line == "mesh info: " + "x" * 8_000]
    assert told[-1] == "mesh info: read again", "on a line of its own, whatever was cut before it"
    assert told[-2] == (
        f"mesh warning: {200 - len(whole)} lines of this log were lost: nobody took them"
    )


def test_a_reader_that_died_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    log = Log("info")
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)

        log.say("info", "nobody reads this")

        monkeypatch.undo()
    assert [line.text for line in log.kept.last(10)] == ["nobody reads this"]


def test_a_full_disk_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        log = Log("info")

        log.say("info", "there is no room for this")

        monkeypatch.undo()
    assert [line.text for line in log.kept.last(10)] == ["there is no room for this"]


def test_bytes_that_are_no_http_are_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    from aiohttp.http_exceptions import BadHttpMessage

    log = Log("debug")
    adopt(log)
    try:
        raise BadHttpMessage("Authorization : Bearer the-key")
    except BadHttpMessage:
        logging.getLogger("aiohttp.server").exception("Error handling request")
    finally:
        logging.basicConfig(force=True)

    said = capsys.readouterr().err
    assert "a client sent what is no HTTP: BadHttpMessage" in said
    assert "the-key" not in said


def test_others_have_their_turn_while_an_engine_chatters() -> None:
    async def story() -> int:
        stream, turns = asyncio.StreamReader(), 0
        stream.feed_data(b"y\n" * LINES_AT_ONCE * 10)
        stream.feed_eof()

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        count = len([line async for line in lines_of(stream)])
        task.cancel()
        assert count == LINES_AT_ONCE * 10
        return turns

    assert asyncio.run(story()) >= 9
