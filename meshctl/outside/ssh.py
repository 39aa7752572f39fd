"""The SSH door: one connection a host, commands over it, and an honest word on why there is none.

asyncssh is behind it, in one thread of its own; what it offers are plain functions. The user's ssh
configuration, agent and known hosts decide, as they do for `ssh`; nothing is asked and no key is
added. Fan-out needs no threads: every host is a task of the one loop.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from meshctl.errors import CheckFailed, MeshctlError, Refused, Unreachable
from meshctl.outside.shell import Result
from meshctl.outside.ssh_connections import Connections
from meshctl.outside.ssh_put import last_line, refuse_unwritten, writing
from meshctl.outside.ssh_sessions import (
    GRACE_S,
    MOST_BYTES,
    Command,
    Session,
    begun,
    carried_out,
    pieces,
    script,
)

__all__ = ["MOST_BYTES", "Answer", "Command", "Hosts", "keep", "script"]

R = TypeVar("R")
Answer = Result | MeshctlError
"""What a command did, or why nobody knows."""
SEND_S = 12 * 3600.0
"""Longest that may be sent: 60 GB at 1.5 MB/s. Who sends nothing for that long has hung."""


class Hosts:
    """The connections of one command, made when they are first needed. Use it as a context."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        """`options` go to asyncssh instead of what the user has set up; for tests."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._connections = Connections(options or {})
        self._forwards: WeakKeyDictionary[Any, dict[tuple[str, int], int]] = WeakKeyDictionary()

    def __enter__(self) -> Hosts:
        self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._wait(self._connections.hang_up())
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

    def put(self, address: str, path: str, data: bytes, mode: int, *, replaces: str | None) -> None:
        """A small file, whole or not at all, where what stands there now has the sha256 `replaces`
        (None: nothing may stand there) or is the same already. Its folder has to be there.

        Raises Refused when something else stands there or it could not be written, Unreachable when
        that is not known.
        """
        told = self.run(address, writing(path, data, mode, replaces))
        refuse_unwritten(address, path, told, replaces)

    def send(
        self,
        address: str,
        argv: tuple[str, ...],
        source: Iterable[bytes],
        progress: Callable[[int], None] = lambda sent: None,
        *,
        timeout_s: float = SEND_S,
    ) -> Result:
        """A command that reads what the source has, as fast as it reads and no faster; `progress`
        is told the bytes that are on their way. How it ended, with the end of what it said: one
        that ended early is sent no more. When the source or the link fails, the command is ended,
        and is not told that its input had an end.

        Raises like `run`.
        """
        with self._session(address, argv, timeout_s) as session:
            sent = 0
            for piece in (piece for chunk in source for piece in pieces(chunk)):
                if not self._heard(address, session.fed(piece)):
                    break
                sent += len(piece)
                progress(sent)
            return self._heard(address, _ended(session))

    def follow(self, address: str, argv: tuple[str, ...]) -> Iterator[str]:
        """The lines of a command that runs, as they come, until it ends or the iterator is closed:
        then the command is ended.

        Raises like `run`, and CheckFailed when the command fails.
        """
        with self._session(address, argv, 0) as session:
            while lines := self._heard(address, session.lines()):
                yield from lines
            told = self._heard(address, session.result())
        if not told.ok:
            raise CheckFailed(
                f"{argv[0]} on {address} ended with {told.code}: {last_line(told.err)}",
                hint=f"try it there: `ssh {address}`",
                place=address,
            )

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

    def _heard(self, address: str, work: Coroutine[Any, Any, R]) -> R:
        async def told() -> R:
            with _lost_is_unreachable(address):
                return await work

        return self._wait(told())

    @contextmanager
    def _session(self, address: str, argv: tuple[str, ...], longest_s: float) -> Iterator[Session]:
        session = self._wait(self._begin(address, argv, longest_s))
        try:
            yield session
        finally:
            with suppress(RuntimeError):  # the connections were closed before the iterator was
                self._loop.call_soon_threadsafe(session.close)

    async def _begin(self, address: str, argv: tuple[str, ...], longest_s: float) -> Session:
        connection = await self._connections.to(address)
        with _lost_is_unreachable(address):
            session = await begun(connection, argv, longest_s)
        session.listen()
        return session

    async def _run_all(self, asked: Mapping[str, tuple[str, Command]]) -> dict[str, Answer]:
        async def told(address: str, command: Command) -> Answer:
            try:
                return await self._run(address, command)
            except MeshctlError as error:
                return error

        answers = await asyncio.gather(*(told(*one) for one in asked.values()))
        return dict(zip(asked, answers, strict=True))

    async def _run(self, address: str, command: Command) -> Result:
        connection = await self._connections.to(address)
        began = self._loop.time()
        try:
            with _lost_is_unreachable(address):
                async with asyncio.timeout(command.timeout_s + GRACE_S):
                    told = await carried_out(connection, command)
        except TimeoutError:
            told = Result(124, "", "")
        late = self._loop.time() - began >= command.timeout_s and told.code in (124, 137)
        said = f"{command.argv[0]} did not end within {command.timeout_s:g} s"
        return replace(told, code=124, err=said) if late else told

    async def _forward(self, address: str, host: str, port: int) -> int:
        connection = await self._connections.to(address)
        made = self._forwards.setdefault(connection, {})  # a new connection needs new ones
        if (host, port) not in made:
            listener = await connection.forward_local_port("127.0.0.1", 0, host, port)
            made[(host, port)] = listener.get_port()
        return made[(host, port)]


def keep(hosts: Hosts) -> Hosts:
    """Opened now, and closed when the process ends."""
    hosts.__enter__()
    atexit.register(hosts.__exit__, None, None, None)
    return hosts


@contextmanager
def _lost_is_unreachable(address: str) -> Iterator[None]:
    """What a command came to is not known when the connection went, and known where none began."""
    import asyncssh

    try:
        yield
    except TimeoutError:
        raise
    except asyncssh.ChannelOpenError as closed:
        hint = "too many commands at once for it: see MaxSessions in its sshd_config"
        raise Refused(f"{address} begins no command: {closed}", hint=hint, place=address) from None
    except (OSError, asyncssh.Error) as lost:
        why = str(lost) or type(lost).__name__
        raise Unreachable(
            f"{address} was lost while it carried out a command: {why}",
            hint="whether the command came about is not known: look before it is run again",
            place=address,
        ) from None


async def _ended(session: Session) -> Result:
    session.feed_end()
    return await session.result()
