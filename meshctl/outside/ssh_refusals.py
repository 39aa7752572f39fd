"""Why there is no connection to a host: it is away, or closed, or unknown, or not itself."""

from __future__ import annotations

import asyncio
import socket
from shlex import join
from typing import TYPE_CHECKING

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.ssh_known import files_of

if TYPE_CHECKING:
    import asyncssh


class Stranger:
    """The key that a host showed and that nobody knows; `fingerprint` is empty without one.

    `known` says that other keys are known by this name.
    """

    def __init__(self) -> None:
        self.fingerprint = ""
        self.known = False
        self.name = ""
        """How known_hosts has the host: by its real name, and with its port where it is not 22."""
        self._own: list[str] = []

    def looks_for(self, settings: asyncssh.SSHClientConnectionOptions) -> None:
        """Whom it is asked for."""
        name = settings.host_key_alias or settings.host
        self.name = name if settings.port == 22 else f"[{name}]:{settings.port}"
        if settings.known_hosts:
            self._own = [str(file) for file in files_of(settings)[:1]]

    @property
    def forgetting(self) -> str:
        """The command that takes its known keys away."""
        own = ["-f", *self._own] if self._own else []
        return join(["ssh-keygen", *own, "-R", self.name])

    def watching(self, known: asyncssh.SSHKnownHosts) -> asyncssh.SSHClient:
        """A client that takes no unknown key, and notes it here."""
        import asyncssh

        class Watching(asyncssh.SSHClient):
            def validate_host_public_key(
                client, host: str, addr: str, port: int, key: asyncssh.SSHKey
            ) -> bool:
                self.fingerprint = f"{key.get_algorithm()} {key.get_fingerprint()}"
                self.known = _is_known(known, host, addr, port)
                return False

        return Watching()


def _is_known(known: asyncssh.SSHKnownHosts, host: str, addr: str, port: int) -> bool:
    """Whether any key is known by this name."""
    import asyncssh

    keys, *_ = asyncssh.match_known_hosts(known, host, addr, None if port == 22 else port)
    return bool(keys)


def refusal(address: str, error: Exception, stranger: Stranger, longest_s: float) -> MeshctlError:
    """What the error means, and the next command."""
    import asyncssh

    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return _unreachable(address, f"no answer within {longest_s:g} s")
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return _not_the_known_one(address, error, stranger)
    if isinstance(error, asyncssh.KeyExchangeFailed):
        hint = f"see what `ssh -v {address} true` agrees on"
        return Refused(f"{address} and we speak no common SSH: {error}", hint=hint, place=address)
    if isinstance(error, asyncssh.PermissionDenied):
        hint = f"see what `ssh -v {address} true` offers; `ssh-add -l` lists the keys of the agent"
        return Refused(f"{address} does not let us in: {error}", hint=hint, place=address)
    if isinstance(error, socket.gaierror):
        return _unreachable(address, "the name is not known")
    if isinstance(error, ConnectionRefusedError):
        return _unreachable(address, "nobody listens at its port")
    if isinstance(error, asyncssh.ConfigParseError | asyncssh.KeyImportError | ValueError):
        hint = "correct ~/.ssh/config, or load the key: `ssh-add`"
        return Refused(f"the ssh configuration for {address}: {error}", hint=hint, place=address)
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return _unreachable(address, why or type(error).__name__)


def _unreachable(address: str, why: str) -> Unreachable:
    return Unreachable(
        f"{address} cannot be reached: {why}", hint=f"try `ssh {address} true`", place=address
    )


def _not_the_known_one(address: str, error: Exception, stranger: Stranger) -> Refused:
    """A key that nobody knows is a question for a person; a changed one may be an attack. Without
    a key that was shown (a certificate, a revoked key) nothing is said of another."""
    if not stranger.fingerprint:
        hint = f"see what `ssh -v {address} true` says of its host key"
        return Refused(f"the key of {address} is not accepted: {error}", hint=hint, place=address)
    if stranger.known:
        return Refused(
            f"{address} is NOT the host that is known by this name: its key has changed to"
            f" {stranger.fingerprint}",
            hint="do not go on before you know why: a new installation, or somebody in between."
            f" Then `{stranger.forgetting}`, and connect by hand",
            place=address,
        )
    return Refused(
        f"{address} is not known yet: it shows the key {stranger.fingerprint}",
        hint=f"`ssh {address} true` takes it over, once you compared it with the host's own:"
        " there, `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`",
        place=address,
    )
