"""Says from which commit a folder comes, when git knows."""

from __future__ import annotations

from pathlib import Path

from meshctl.errors import MeshctlError
from meshctl.outside.shell import Shell

TIMEOUT_S = 10.0


def origin(shell: Shell, folder: Path) -> tuple[str | None, bool | None]:
    """The commit, and whether the tree differs from it; (None, None) where git does not say.

    Never raises: a build does not fail for want of a footnote.
    """
    commit = _git(shell, folder, "rev-parse", "--verify", "HEAD")
    changes = _git(shell, folder, "status", "--porcelain")
    if commit is None or changes is None:
        return None, None
    return commit.strip(), bool(changes.strip())


def _git(shell: Shell, folder: Path, *words: str) -> str | None:
    try:
        command = ["git", "--no-optional-locks", "-C", str(folder), *words]
        done = shell.run(command, timeout_s=TIMEOUT_S)
    except (MeshctlError, OSError):
        return None
    return done.out if done.ok else None
