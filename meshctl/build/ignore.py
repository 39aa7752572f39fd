"""Reads .gcloudignore as gcloud does: which paths of a folder are not part of its context. Pure.

With a .gcloudignore only it counts; without one, gcloud leaves out .gcloudignore, .git and
.gitignore, and what .gitignore says (gcloudignore.py of gcloud 528).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pathspec import GitIgnoreSpec

from meshctl.errors import UsageError

FILE = ".gcloudignore"
OURS = ".meshctl"
"""Journals, locks and the embedded cloud: writing them must not change what is built."""
DEFAULT = (FILE, ".git", ".gitignore")
INCLUDE = "#!include:"

Read = Callable[[str], str | None]
"""The text of a file directly in the folder; None when there is none."""


def rules(read: Read) -> Callable[[str], bool]:
    """Whether a relative posix path is left out; a folder's path ends with a slash.

    Raises UsageError for a pattern or an include that cannot be followed.
    """
    own = read(FILE)
    if own is not None:
        lines = list(_lines(own, read, depth=1))
    else:
        lines = [*DEFAULT, *(read(".gitignore") or "").splitlines()]
    return _spec(lines).match_file


def never(path: str) -> bool:
    """Whether a path is left out whatever the rules say: any folder of meshctl's own."""
    return path.endswith("/") and path.split("/")[-2] == OURS


def _spec(lines: list[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise UsageError(f"{FILE}: {error}", place=FILE, hint="write it as for git") from error


def _lines(text: str, read: Read, depth: int) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith(INCLUDE):
            yield from _included(line.removeprefix(INCLUDE).strip(), read, depth)
        else:
            yield line


def _included(name: str, read: Read, depth: int) -> Iterator[str]:
    """The lines of a file of the same folder, in the place of the directive."""
    found = read(name) if "/" not in name else None
    if found is None or depth == 0:
        why = "includes go one level deep" if found is not None else "no such file beside it"
        raise UsageError(
            f"{FILE}: {INCLUDE}{name}: {why}",
            place=FILE,
            hint="include only a file of the same folder, such as .gitignore",
        )
    yield from _lines(found, read, depth - 1)
