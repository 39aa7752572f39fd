"""Which keys are known of which host: the files that the user's configuration names, read once.

asyncssh reads them for every host (200 hosts with 200 lines are a third of a second), fails where
one of several is missing, and checks no key at all where the configuration names none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncssh

Stamp = tuple[tuple[str, int, int], ...]
"""Of each file: its path, when it was written last, its size."""


class Known:
    """By files. One that was written since is read again."""

    def __init__(self) -> None:
        self._read: dict[Stamp, asyncssh.SSHKnownHosts] = {}

    def by(self, settings: asyncssh.SSHClientConnectionOptions) -> asyncssh.SSHKnownHosts:
        """Raises ValueError where a file is no list of known hosts."""
        import asyncssh

        files = files_of(settings)
        stamp = tuple((str(f), f.stat().st_mtime_ns, f.stat().st_size) for f in files)
        if stamp not in self._read:
            self._read[stamp] = asyncssh.read_known_hosts([str(file) for file in files])
        return self._read[stamp]


def files_of(settings: asyncssh.SSHClientConnectionOptions) -> list[Path]:
    """Those that are there; the first is the user's own."""
    named = settings.known_hosts
    some = named if isinstance(named, list) else ["~/.ssh/known_hosts"] if named == () else []
    return [file for file in (Path(str(one)).expanduser() for one in some) if file.is_file()]
