"""The connections to hosts: one each, made when it is first needed, through jump hosts where the
user's configuration says so.

A jump host is a host like others: asyncssh's own way there knows neither the configuration that we
were given nor whose key was wrong, and makes a connection for each host behind it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from meshctl.errors import MeshctlError
from meshctl.outside.ssh_known import Known
from meshctl.outside.ssh_refusals import Stranger, refusal

if TYPE_CHECKING:
    import asyncssh

CONNECT_S = 15.0
"""Longest way to a shell. A sleeping machine in the same house answers in a second, or never."""
ALIVE_S, UNHEARD = 5, 3
"""How often a silent host is asked for a sign of life, and how many may be missing. A link that is
cut ends nothing by itself: a command of an hour would be waited for."""
HANDSHAKES = 50
"""Connections that are being made at once. Each goes to a host of its own."""
THROUGH_ONE = 8
"""The same through one jump host: all go over its one connection, and hosts behind it may be one
machine of several names, where sshd begins to drop at ten (MaxStartups, sshd_config(5))."""
KEYS_TOO = (
    "+ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,"
    "rsa-sha2-512,rsa-sha2-256"
)
"""Kinds of host keys that are asked for after those that are known of a host. asyncssh asks for the
known kinds alone, and sshd hangs up when it has none of them: a changed key would look like a host
that is away."""


@dataclass(frozen=True)
class Hop:
    """A host as somebody wrote it, and through whom it is reached: a list as ProxyJump has it,
    the nearest to us first. None asks the configuration, "" is straight."""

    address: str
    through: str | None = None


class Connections:
    """By host. All of it runs in one loop."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._known = Known()
        self._made: dict[Hop, asyncio.Task[asyncssh.SSHClientConnection]] = {}
        self._doors: dict[Hop | None, asyncio.Semaphore] = {}

    async def to(self, address: str) -> asyncssh.SSHClientConnection:
        """Raises Unreachable, and Refused where it or a jump host does not let us in."""
        return await self._shared(Hop(address))

    async def hang_up(self) -> None:
        for made in self._made.values():
            made.cancel()
        ended = await asyncio.gather(*self._made.values(), return_exceptions=True)
        for connection in ended:
            if not isinstance(connection, BaseException):
                connection.abort()

    async def _shared(self, hop: Hop) -> asyncssh.SSHClientConnection:
        """Who comes while it is made waits for the same. What failed or was lost is made anew."""
        made = self._made.get(hop)
        if made is None or _lost(made):
            made = self._made[hop] = asyncio.create_task(self._connect(hop))
            made.add_done_callback(_heard)
        return await asyncio.shield(made)

    async def _connect(self, hop: Hop) -> asyncssh.SSHClientConnection:
        import asyncssh

        stranger = Stranger()
        try:
            settings = self._settings(hop, stranger)
            jump = self._jump(hop, settings)
            tunnel = await self._tunnel(hop, jump) if jump else None
            async with self._door(jump), asyncio.timeout(CONNECT_S):
                return await self._dialled(tunnel, settings, stranger)
        except (OSError, ValueError, asyncssh.Error) as error:
            raise refusal(hop.address, error, stranger, CONNECT_S) from None

    async def _dialled(
        self,
        tunnel: asyncssh.SSHClientConnection | None,
        settings: asyncssh.SSHClientConnectionOptions,
        stranger: Stranger,
    ) -> asyncssh.SSHClientConnection:
        import asyncssh

        known = self._known.by(settings)
        chosen = settings.config.get("HostKeyAlgorithms")
        return await asyncssh.connect(
            settings.orig_host,
            tunnel=tunnel,
            options=settings,
            known_hosts=known,
            client_factory=partial(stranger.watching, known),
            server_host_key_algs=() if chosen else KEYS_TOO,
        )

    def _settings(self, hop: Hop, stranger: Stranger) -> asyncssh.SSHClientConnectionOptions:
        """What the configuration says of a host. Raises ValueError and asyncssh.Error."""
        import asyncssh

        user, host, port = _parsed(hop.address)
        settings = asyncssh.SSHClientConnectionOptions(
            host=host,
            keepalive_interval=ALIVE_S,
            keepalive_count_max=UNHEARD,
            **({"username": user} if user else {}),
            **({"port": port} if port else {}),
            **self._options,
        )
        stranger.looks_for(settings)
        return settings

    def _jump(self, hop: Hop, settings: asyncssh.SSHClientConnectionOptions) -> Hop | None:
        """Through whom. Raises ValueError where that leads in a circle: who waits for himself
        would wait for ever."""
        here, seen = _next(hop, settings), [hop]
        first = here
        while here:
            if here in seen:
                way = " -> ".join(one.address for one in (*seen, here))
                raise ValueError(f"ProxyJump leads in a circle: {way}")
            seen.append(here)
            here = _next(here, self._settings(here, Stranger()))
        return first

    async def _tunnel(self, hop: Hop, jump: Hop) -> asyncssh.SSHClientConnection:
        try:
            return await self._shared(jump)
        except MeshctlError as error:
            message = f"{hop.address} is behind {jump.address}: {error.message}"
            raise type(error)(message, hint=error.hint, place=error.place) from None

    def _door(self, jump: Hop | None) -> asyncio.Semaphore:
        return self._doors.setdefault(jump, asyncio.Semaphore(THROUGH_ONE if jump else HANDSHAKES))


def _next(hop: Hop, settings: asyncssh.SSHClientConnectionOptions) -> Hop | None:
    """Of a list the last is the nearest to the host, and is reached through those before it; only
    for the first of them the configuration is asked, as `ssh` does."""
    configured = settings.tunnel if isinstance(settings.tunnel, str) else ""
    through = configured if hop.through is None else hop.through
    before, _, last = through.rpartition(",")
    return Hop(last.strip(), before or None) if last else None


def _parsed(address: str) -> tuple[str, str, int]:
    """User, host and port of USER@HOST:PORT, as far as they are there; IPv6 has colons, too."""
    user, _, place = address.removeprefix("ssh://").rstrip("/").rpartition("@")
    host, _, port = place.rpartition(":")
    if host and port.isdecimal() and (":" not in host or host.startswith("[")):
        return user, host.strip("[]"), int(port)
    return user, place.strip("[]"), 0


def _lost(made: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    if not made.done():
        return False
    return made.cancelled() or made.exception() is not None or made.result().is_closed()


def _heard(made: asyncio.Task[asyncssh.SSHClientConnection]) -> None:
    """Nobody may be left who asks why it failed, and Python would complain of that."""
    with suppress(asyncio.CancelledError):
        made.exception()
