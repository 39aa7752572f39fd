"""The SSH door: one connection a host, commands over it, and an honest word on why there is none.

asyncssh is behind it, in one thread of its own; what it offers are plain functions. The user's ssh
configuration, agent and known hosts decide, as they do for `ssh`; nothing is asked and no key is
added. Fan-out needs no threads: every host is a task of the one loop.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import join
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from meshctl.errors import MeshctlError, Unreachable
from meshctl.outside.shell import Result
from meshctl.outside.ssh_refusals import Stranger, refusal

if TYPE_CHECKING:
    import asyncssh

R = TypeVar("R")
Answer = Result | MeshctlError
"""What a command did, or why nobody knows."""
CONNECT_S = 15.0
"""Longest way to a shell. A sleeping machine in the same house answers in a second, or never."""
ALIVE_S, UNHEARD = 5, 3
"""How often a silent host is asked for a sign of life, and how many may be missing. A link that is
cut ends nothing by itself: a command of an hour would be waited for."""
HANDSHAKES = 50
"""Connections that are being made at once. Each goes to a host of its own."""
THROUGH_ONE = 8
"""The same through one jump host: sshd begins to drop at ten (MaxStartups, sshd_config(5))."""
GRACE_S = 10.0
"""From the end of its time to when nobody waits for a command any more; half of it for SIGTERM."""
MOST_BYTES = 8 * 2**20
"""Of what a command may say; a reading has some 100 KB. One that says more is ended."""


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


class Hosts:
    """The connections of one command, made when they are first needed. Use it as a context."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        """`options` go to asyncssh instead of what the user has set up; for tests."""
        self._options = options or {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._made: dict[str, asyncio.Task[asyncssh.SSHClientConnection]] = {}
        self._doors: dict[str, asyncio.Semaphore] = {}
        self._forwards: dict[tuple[int, str, int], int] = {}

    def __enter__(self) -> Hosts:
        self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._wait(self._hang_up())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, address: str, command: Command) -> Result:
        """One command on one host; 124 when it ran past its time, 125 when it said too much.

        Raises Unreachable, and Refused where the host is not the one that is known by this name or
        does not let us in.
        """
        return self._wait(self._run(address, command))

    def run_all(self, asked: Mapping[str, tuple[str, Command]]) -> dict[str, Answer]:
        """By name, an address and a command for it, all at once; one that fails hides no other."""
        return self._wait(self._run_all(asked))

    def forward(self, address: str, host: str, port: int) -> int:
        """A port of this machine's loopback that leads to HOST:PORT as the host itself sees it,
        until the connections are closed. Nothing need be reachable but sshd.

        Raises Unreachable, and Refused where the host does not let us in.
        """
        return self._wait(self._forward(address, host, port))

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        """Waits in the caller's thread; Ctrl-C ends the work, too."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _run_all(self, asked: Mapping[str, tuple[str, Command]]) -> dict[str, Answer]:
        async def told(address: str, command: Command) -> Answer:
            try:
                return await self._run(address, command)
            except MeshctlError as error:
                return error

        answers = await asyncio.gather(*(told(*one) for one in asked.values()))
        return dict(zip(asked, answers, strict=True))

    async def _run(self, address: str, command: Command) -> Result:
        import asyncssh

        connection = await self._connection(address)
        began = self._loop.time()
        try:
            async with asyncio.timeout(command.timeout_s + GRACE_S):
                told = await _carried_out(connection, command)
        except TimeoutError:
            told = Result(124, "", "")
        except (OSError, asyncssh.Error) as lost:
            raise Unreachable(
                f"{address} was lost while it carried out a command: {_why(lost)}",
                hint="whether the command came about is not known: look before it is run again",
                place=address,
            ) from None
        late = self._loop.time() - began >= command.timeout_s and told.code in (124, 137)
        said = f"{command.argv[0]} did not end within {command.timeout_s:g} s"
        return replace(told, code=124, err=said) if late else told

    async def _forward(self, address: str, host: str, port: int) -> int:
        connection = await self._connection(address)
        key = (id(connection), host, port)
        if key not in self._forwards:
            listener = await connection.forward_local_port("127.0.0.1", 0, host, port)
            self._forwards[key] = listener.get_port()
        return self._forwards[key]

    async def _connection(self, address: str) -> asyncssh.SSHClientConnection:
        """The one connection to a host; who comes while it is made waits for the same, and after
        a failure is told the same. One that was lost since is made anew."""
        made = self._made.get(address)
        if made is None or _lost(made):
            made = self._made[address] = asyncio.create_task(self._connect(address))
        return await asyncio.shield(made)

    async def _connect(self, address: str) -> asyncssh.SSHClientConnection:
        import asyncssh

        stranger = Stranger()
        user, _, host = address.rpartition("@")
        options = {"username": user} if user else {}
        try:
            settings = asyncssh.SSHClientConnectionOptions(
                host=host,
                client_factory=stranger.watching,
                keepalive_interval=ALIVE_S,
                keepalive_count_max=UNHEARD,
                **options,
                **self._options,
            )
            stranger.known_hosts = settings.known_hosts
            async with self._door(settings), asyncio.timeout(CONNECT_S):
                return await asyncssh.connect(host, options=settings)
        except (OSError, ValueError, asyncssh.Error) as error:
            raise refusal(address, error, stranger, CONNECT_S) from None

    def _door(self, settings: asyncssh.SSHClientConnectionOptions) -> asyncio.Semaphore:
        jump = settings.tunnel if isinstance(settings.tunnel, str) else ""
        return self._doors.setdefault(jump, asyncio.Semaphore(THROUGH_ONE if jump else HANDSHAKES))

    async def _hang_up(self) -> None:
        for made in self._made.values():
            made.cancel()
        ended = await asyncio.gather(*self._made.values(), return_exceptions=True)
        for connection in ended:
            if not isinstance(connection, BaseException):
                connection.abort()


def keep(hosts: Hosts) -> Hosts:
    """Opened now, and closed when the process ends."""
    hosts.__enter__()
    atexit.register(hosts.__exit__, None, None, None)
    return hosts


def _lost(made: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    return made.done() and made.exception() is None and made.result().is_closed()


async def _carried_out(connection: asyncssh.SSHClientConnection, command: Command) -> Result:
    process = await connection.create_process(join(_bounded(command)), encoding=None)
    out, err = bytearray(), bytearray()
    try:
        with suppress(OSError):  # it ended without reading, and is not to be blamed for that
            process.stdin.write(command.input)
            process.stdin.write_eof()
        await asyncio.gather(_take(process.stdout, out), _take(process.stderr, err))
        await process.wait()
        return Result(_code(process), _text(out), _text(err))
    except _TooMuch:
        return Result(125, _text(out), f"ended: it said more than {MOST_BYTES} bytes")
    finally:
        process.close()


def _bounded(command: Command) -> tuple[str, ...]:
    """The host itself ends it: one that nobody hears any more would go on there for ever, and sshd
    sends no signals into sessions of root."""
    kill_s, longest_s = GRACE_S / 2, command.timeout_s
    return ("timeout", "-k", f"{kill_s:g}", f"{longest_s:g}", *command.argv)


class _TooMuch(Exception):
    """It says more than anybody asked to hear."""


async def _take(stream: asyncssh.SSHReader[bytes], said: bytearray) -> None:
    while piece := await stream.read(2**16):
        said += piece
        if len(said) > MOST_BYTES:
            raise _TooMuch


def _code(process: asyncssh.SSHClientProcess[bytes]) -> int:
    """As a shell gives it. Raises ConnectionError when the host says nothing of the end."""
    if process.exit_signal:
        return 128
    if process.exit_status is None:
        raise ConnectionError("the connection ended before the command did")
    return process.exit_status


def _text(said: bytearray) -> str:
    return said[:MOST_BYTES].decode(errors="replace")


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__
