"""One command on a host: what it may read, what it says, how it ends, and that it does end.

sshd ends nothing when the one who asked is gone, and sends no signals into sessions of root. So
the host itself holds every command on a leash: standard input stays open for as long as somebody
waits, and when it ends, the command and what it started are ended. What the command shall read
comes in pieces with their sizes before them: a transfer that was cut is never taken for whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from shlex import join
from typing import TYPE_CHECKING

from meshctl.outside.shell import Result

if TYPE_CHECKING:
    import asyncssh

GRACE_S = 10.0
"""From the end of its time to when nobody waits for a command any more; half of it for SIGTERM."""
MOST_BYTES = 8 * 2**20
"""Of what a command may say; a reading has some 100 KB. One that says more is ended."""
PIECE_BYTES = 2**20
"""Of what is sent at once: a piece costs the host a process."""
COMPLAINT_BYTES = 2**16
"""Of the end of what a long command complains of."""
LINE_BYTES = 2**18
"""Longest line that is followed as one; journald cuts at 48 KiB of its own accord."""

_HELD = (
    "trap : TERM; "
    '{ read -r me _ </proc/self/stat; echo "$me"; '
    'while read -r size && [ "$size" -gt 0 ] && head -c "$size"; do :; done; '
    'if [ -n "$size" ]; then exec >&-; while read -r _; do :; done; fi; '
    'trap "" TERM; kill 0; } 2>/dev/null | '
    '{ trap : TERM; read -r leash; (exec "$@"); code=$?; kill -PIPE "$leash"; exit "$code"; }'
)
"""The left side says who it is, hands over the pieces, closes what the command reads at the size 0
(or when it reads no more), and waits for the end of standard input: then it ends its whole group,
itself last. An end without a 0 comes before the command could take it for the end of its input.

The right side is the command, whose end is the end of all. The shells outlive SIGTERM, so that
`timeout` sees whether the command does, and do not die of telling somebody who is gone how another
died: that is why it is SIGPIPE, of which they do not speak. On one line and without backslashes,
for login shells differ in how they read those."""


@dataclass(frozen=True)
class Command:
    """A command line, or a script for `sh`; `input` is what it may read."""

    argv: tuple[str, ...]
    input: bytes = b""
    timeout_s: float = 60.0


def script(text: str, *words: str, timeout_s: float = 60.0) -> Command:
    """A script for the shell of the host. It goes over standard input, for everybody on a machine
    may read command lines; the words are its `$1`, `$2` and so on."""
    return Command(("sh", "-s", "--", *words), text.encode(), timeout_s)


async def carried_out(connection: asyncssh.SSHClientConnection, command: Command) -> Result:
    """To its end; 125 when it said too much.

    Raises OSError and asyncssh.Error when the connection went, asyncssh.ChannelOpenError when
    nothing was begun.
    """
    session = await begun(connection, command.argv, command.timeout_s)
    out, err = bytearray(), bytearray()
    try:
        session.feed(command.input)
        session.feed_end()
        await asyncio.gather(_take(session.process.stdout, out), _take(session.process.stderr, err))
        return Result(await session.code(), _text(out), _text(err))
    except _TooMuch:
        return Result(125, _text(out), f"ended: it said more than {MOST_BYTES} bytes")
    finally:
        session.close()


async def begun(
    connection: asyncssh.SSHClientConnection, argv: tuple[str, ...], longest_s: float
) -> Session:
    """A command that runs, for `longest_s` at most; 0 is for ever."""
    bounds = ("timeout", "-k", f"{GRACE_S / 2:g}", f"{longest_s:g}")
    held = (*bounds, "sh", "-c", _HELD, "sh", *argv)
    return Session(await connection.create_process(join(held), encoding=None))


class Session:
    """A command that runs. Closing it ends the command."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self.process = process
        self._rest = b""
        self._complaints = bytearray()
        self._listening: asyncio.Task[None] | None = None

    def listen(self) -> None:
        """Take what it complains of, so that it is never held up by that."""
        self._listening = asyncio.create_task(_tail(self.process.stderr, self._complaints))

    def feed(self, data: bytes) -> None:
        """Put on its way, however much waits there already."""
        with suppress(OSError):  # it ended without reading, and is not to be blamed for that
            for piece in pieces(data):
                self.process.stdin.write(b"%d\n" % len(piece) + piece)

    async def fed(self, piece: bytes) -> bool:
        """Put on its way once there is room; False when the command has ended."""
        self.feed(piece)
        with suppress(OSError):
            await self.process.stdin.drain()
        return not self.process.is_closing() and self.process.exit_status is None

    def feed_end(self) -> None:
        with suppress(OSError):
            self.process.stdin.write(b"0\n")

    async def lines(self) -> list[str]:
        """The next lines, when there are some; none at the end."""
        while piece := await self.process.stdout.read(2**16):
            *whole, self._rest = (self._rest + piece).split(b"\n")
            if len(self._rest) > LINE_BYTES:
                whole, self._rest = [*whole, self._rest], b""
            if whole:
                return [line.decode(errors="replace") for line in whole]
        last, self._rest = self._rest, b""
        return [last.decode(errors="replace")] if last else []

    async def result(self) -> Result:
        """How it ended, with the last of what it said and complained of; it listens already."""
        out = bytearray()
        await _tail(self.process.stdout, out)
        if self._listening:
            await self._listening
        return Result(await self.code(), _text(out), _text(self._complaints))

    async def code(self) -> int:
        """As a shell gives it. Raises ConnectionError when the host says nothing of the end."""
        await self.process.wait_closed()
        if self.process.exit_signal:
            return 128
        if self.process.exit_status is None:
            raise ConnectionError("the connection ended before the command did")
        return self.process.exit_status

    def close(self) -> None:
        self.process.close()
        if self._listening:
            self._listening.cancel()


def pieces(data: bytes) -> Iterator[bytes]:
    """None of them larger than a piece may be."""
    for start in range(0, len(data), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]


class _TooMuch(Exception):
    """It says more than anybody asked to hear."""


async def _take(stream: asyncssh.SSHReader[bytes], said: bytearray) -> None:
    while piece := await stream.read(2**16):
        said += piece
        if len(said) > MOST_BYTES:
            raise _TooMuch


async def _tail(stream: asyncssh.SSHReader[bytes], said: bytearray) -> None:
    while piece := await stream.read(2**16):
        said += piece
        del said[:-COMPLAINT_BYTES]


def _text(said: bytearray) -> str:
    return said[:MOST_BYTES].decode(errors="replace")
