"""Many SSH servers on loopback, a delay before each: a process of its own.

    python servers.py FOLDER COUNT DELAY_S

They share a host key and run what they are told in a real shell. Writes `known_hosts` and an ssh
`config` with hosts h0, h1, ... into the folder, where `key` is made, and says so with a line.
"""

from __future__ import annotations

import asyncio
import getpass
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncssh


class Delayed(asyncio.Protocol):
    """One end of a line; what comes in goes out at the other a while later."""

    def __init__(self, delay_s: float, other: Delayed | None = None) -> None:
        self.delay_s, self.other = delay_s, other
        self.transport: asyncio.Transport | None = None
        self.early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        for data in self.early:
            transport.write(data)

    def data_received(self, data: bytes) -> None:
        if self.other:
            asyncio.get_running_loop().call_later(self.delay_s, self.other.put, data)

    def connection_lost(self, error: Exception | None) -> None:
        if self.other and self.other.transport:
            asyncio.get_running_loop().call_later(self.delay_s, self.other.transport.close)

    def put(self, data: bytes) -> None:
        if self.transport is None:
            self.early.append(data)
        elif not self.transport.is_closing():
            self.transport.write(data)


class Front(Delayed):
    """The end that is called; the other is the server."""

    def __init__(self, delay_s: float, port: int) -> None:
        super().__init__(delay_s)
        self.port = port

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.other = back = Delayed(self.delay_s, self)
        loop = asyncio.get_running_loop()
        self.calling = loop.create_task(
            loop.create_connection(lambda: back, "127.0.0.1", self.port)
        )


class AnyKey(asyncssh.SSHServer):
    """Lets in whoever has the one key."""

    def begin_auth(self, username: str) -> bool:
        return True


async def shell(process: asyncssh.SSHServerProcess[bytes]) -> None:
    """What it was told, in a real shell."""
    child = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", process.command or "true", start_new_session=True,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin and child.stdout and child.stderr
    feeding = asyncio.create_task(pump(process.stdin, child.stdin))
    await asyncio.gather(pump(child.stdout, process.stdout), pump(child.stderr, process.stderr))
    code = await child.wait()
    feeding.cancel()
    process.exit(code)


async def pump(source: Any, into: Any) -> None:
    """As sshd does: a command that has ended reads no more, and that is nobody's fault. asyncssh's
    own redirection loses its exit code over it."""
    with suppress(OSError, asyncssh.Error):
        while data := await source.read(2**16):
            into.write(data)
            await into.drain()
    if isinstance(into, asyncio.StreamWriter):
        into.close()


async def serve(folder: Path, count: int, delay_s: float) -> None:
    """All of them, until the process is ended."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(folder / "key"))
    (folder / "key").chmod(0o600)
    key.write_public_key(str(folder / "authorized"))
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.create_server(
        AnyKey, "127.0.0.1", 0, server_host_keys=[host_key], process_factory=shell,
        authorized_client_keys=str(folder / "authorized"), encoding=None, backlog=1024,
    )  # fmt: skip
    back = server.sockets[0].getsockname()[1]
    front: Callable[[], Front] = lambda: Front(delay_s, back)  # noqa: E731
    loop = asyncio.get_running_loop()
    fronts = [await loop.create_server(front, "127.0.0.1", 0) for _ in range(count)]
    ports = [one.sockets[0].getsockname()[1] for one in fronts]
    write(folder, host_key.export_public_key().decode().strip(), ports)
    print("ready", flush=True)
    await asyncio.Event().wait()


def write(folder: Path, host_key: str, ports: list[int]) -> None:
    """What a client has to know."""
    known = "".join(f"[127.0.0.1]:{port} {host_key}\n" for port in ports)
    (folder / "known_hosts").write_text(known)
    common = (
        f"User {getpass.getuser()}\nIdentityFile {folder / 'key'}\nIdentitiesOnly yes\n"
        f"UserKnownHostsFile {folder / 'known_hosts'}\nHostName 127.0.0.1\nLogLevel ERROR\n"
    )
    hosts = "".join(f"Host h{number}\n  Port {port}\n" for number, port in enumerate(ports))
    (folder / "config").write_text(common + hosts)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
