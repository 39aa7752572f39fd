"""Real SSH servers on loopback with throw-away keys, and one person's key that they let in."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh
import pytest

SSHD = Path("/usr/sbin/sshd")


@dataclass(frozen=True)
class Server:
    """Where it listens, and who it is."""

    port: int
    host_key: str
    fingerprint: str
    log: Path

    @property
    def known(self) -> str:
        """How known_hosts has it."""
        return f"[127.0.0.1]:{self.port} {self.host_key}\n"

    @property
    def connections(self) -> int:
        """How often somebody was let in."""
        return self.log.read_text().count("Accepted publickey")


class Servers:
    """The servers of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(str(folder / "key"))
        key.write_public_key(str(folder / "authorized"))

    def start(
        self,
        tools: Path | None = None,
        *,
        port: int = 0,
        key_type: str = "ssh-ed25519",
        also: str = "",
    ) -> Server:
        """One more server, with a key of its own (`also` a second one, that is not told of);
        programs in `tools` go before the system's."""
        port = port or _free_port()
        key = asyncssh.generate_private_key(key_type)
        file, log = self._folder / f"host_{port}", self._folder / f"log_{port}"
        key.write_private_key(str(file))
        file.chmod(0o600)
        keys = [f"HostKey={file}"]
        if also:
            second = file.with_suffix(".also")
            asyncssh.generate_private_key(also).write_private_key(str(second))
            second.chmod(0o600)
            keys.append(f"HostKey={second}")
        settings: dict[str, object] = {
            "Port": port, "ListenAddress": "127.0.0.1", "PidFile": "none",
            "AuthorizedKeysFile": self._folder / "authorized", "StrictModes": "no",
            "UsePAM": "no", "PermitRootLogin": "yes", "PasswordAuthentication": "no",
        }  # fmt: skip
        if tools:
            settings["SetEnv"] = f"PATH={tools}:/usr/local/bin:/usr/bin:/bin"
        keys += [f"{name}={value}" for name, value in settings.items()]
        words = [word for setting in keys for word in ("-o", setting)]
        command = [str(SSHD), "-D", "-f", "/dev/null", "-E", str(log), *words]
        self._running[port] = subprocess.Popen(command)
        _listens(port)
        public = key.export_public_key().decode().strip()
        return Server(port, public, key.get_fingerprint(), log)

    def stop(self, server: Server) -> None:
        """Nobody listens there any more."""
        process = self._running.pop(server.port)
        process.terminate()
        process.wait(60)

    def hang_up(self, server: Server) -> None:
        """On everybody who is connected to it."""
        parent = self._running[server.port].pid
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            for pid in children.read_text().split():
                os.kill(int(pid), 9)

    def options(
        self, known: list[Server], jumps: Mapping[str, str] | None = None, **aliases: Server
    ) -> dict[str, Any]:
        """What a client is set up with: an ssh configuration with these names, these keys, and for
        a name the jump hosts before it."""
        hosts, config = self._folder / "known_hosts", self._folder / "config"
        hosts.write_text("".join(server.known for server in known))
        config.write_text(
            f"User {getpass.getuser()}\nIdentityFile {self._folder / 'key'}\n"
            f"UserKnownHostsFile {hosts}\nIdentityAgent none\nHostName 127.0.0.1\n"
            + "".join(f"Host {name}\n  Port {at.port}\n" for name, at in aliases.items())
            + "".join(f"Host {name}\n  ProxyJump {way}\n" for name, way in (jumps or {}).items())
        )
        return {"config": [str(config)]}

    def close(self) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait(60)


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Servers for the while."""
    if not SSHD.exists():
        pytest.skip("there is no sshd on this machine: apt-get install openssh-server")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd insists, and a service would have made it
    some = Servers(folder)
    try:
        yield some
    finally:
        some.close()


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Fails when it does not come true."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.05)


def wait_until_gone(pid: int) -> None:
    """Fails when the process goes on. One that nobody reaped is gone."""
    wait_until(lambda: not _lives(pid), f"process {pid} was not ended on the host")


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), 5):
                return
        except OSError:
            assert time.monotonic() < end, f"no sshd came up on port {port}"
            time.sleep(0.05)
