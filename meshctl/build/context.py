"""Freezes the files of a build's context, before any of them is packed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath

from meshctl.build.ignore import never, rules
from meshctl.errors import Refused, UsageError
from meshctl.outside.folder import Entry, entry, sha256_of, text_of, walk
from meshctl.outside.packages import SCHEME, folder_of
from meshctl.payloads.package import located, prove
from meshctl.spec.model import Payload
from meshctl.state.builds import FileProof

PAYLOAD = "payload:"
MOST_NAMES = 5000
"""So many names are matched against the ignore files in about a tenth of a second."""


@dataclass(frozen=True)
class Context:
    """The frozen list, sorted by path; `payload_paths` are those that a payload declares."""

    entries: tuple[Entry, ...]
    payload_paths: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.entries)

    def largest(self, count: int = 10) -> list[tuple[str, int]]:
        """The largest paths with their bytes, the largest first."""
        ranked = sorted(self.entries, key=lambda entry: (-entry.bytes, entry.path))
        return [(entry.path, entry.bytes) for entry in ranked[:count]]


@dataclass(frozen=True)
class Hashed:
    """A context whose contents were read once; `sha256` has no links, they have no contents."""

    context: Context
    sha256: dict[str, str]

    @property
    def digest(self) -> str:
        """One name for paths, modes and contents; independent of how they are packed."""
        rows = [
            [e.path, e.executable, e.link, self.sha256.get(e.path)] for e in self.context.entries
        ]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    @property
    def by_entry(self) -> dict[Entry, str]:
        """What each file hashed to."""
        return {e: self.sha256[e.path] for e in self.context.entries if e.path in self.sha256}

    @property
    def files(self) -> dict[str, FileProof]:
        """Size and digest of each included payload file, by its path in the context."""
        return {
            e.path: FileProof(bytes=e.bytes, sha256=self.sha256[e.path])
            for e in self.context.entries
            if e.path in self.context.payload_paths
        }


def freeze(
    folder: Path,
    include: dict[str, str],
    payloads: dict[str, Payload],
    place: str,
    exclude: tuple[Path, ...] = (),
    *,
    glance: bool = False,
) -> Context:
    """List the folder without what is ignored, and what is included from elsewhere. `exclude` are
    folders that are left out whatever the ignore files say.

    Raises UsageError for a clash or an include that cannot be followed, CheckFailed for a payload
    that is not what it declares; `place` is where the image stands in the fleet. At a `glance`
    payloads are found and not read, and Refused is raised for a folder of more than MOST_NAMES.
    """
    ignored = _ignored(folder, exclude, place)
    entries = walk(folder, _counted(ignored) if glance else ignored)
    payload_files = located if glance else prove
    declared: set[str] = set()
    for path, source in include.items():
        at = f"{place}.build.include.{path}"
        added = [entry(f"{_inside(path, at)}/{name}", file) for name, file in
                 _files(source, payloads, at, payload_files)]  # fmt: skip
        entries += added
        if source.startswith(PAYLOAD):
            declared.update(entry.path for entry in added)
    _refuse_clashes(entries, place)
    return Context(tuple(sorted(entries, key=lambda e: e.path)), frozenset(declared))


def _ignored(folder: Path, exclude: tuple[Path, ...], place: str) -> Callable[[str], bool]:
    home = folder.resolve()
    inside = [path.resolve() for path in exclude if path.resolve().is_relative_to(home)]
    if home in inside:
        raise UsageError(
            f"the state lies in {folder}, among the files that are to be built",
            place=f"{place}.build.context",
            hint="give the state a folder of its own: `state: .meshctl/state`, or --state FOLDER",
        )
    outside = {f"{path.relative_to(home).as_posix()}/" for path in inside}
    by_rules = rules(partial(text_of, folder))
    return lambda path: path in outside or never(path) or by_rules(path)


def _counted(ignored: Callable[[str], bool]) -> Callable[[str], bool]:
    """The same rules for as long as it takes a moment."""
    names = count(1)

    def asked(path: str) -> bool:
        if next(names) > MOST_NAMES:
            raise Refused(f"there are more than {MOST_NAMES:,} names in it", hint="build it")
        return ignored(path)

    return asked


def hashed(context: Context) -> Hashed:
    """Read every file once. Raises Changed when one is no longer as it was listed."""
    files = (entry for entry in context.entries if entry.link is None)
    return Hashed(context, {entry.path: sha256_of(entry) for entry in files})


def _files(
    source: str,
    payloads: dict[str, Payload],
    place: str,
    payload_files: Callable[[Payload, str], dict[str, Path]],
) -> Iterable[tuple[str, Path]]:
    if source.startswith(SCHEME):
        return folder_of(source)
    name = source.removeprefix(PAYLOAD)
    if source.startswith(PAYLOAD) and name in payloads:
        return payload_files(payloads[name], name).items()
    raise UsageError(
        f"{source} cannot be included",
        place=place,
        hint=f"write {PAYLOAD}NAME with a declared payload, or {SCHEME}DISTRIBUTION[/FOLDER]",
    )


def _inside(path: str, place: str) -> str:
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise UsageError(
            f"{path!r} is not a path inside the context",
            place=place,
            hint="write names joined by slashes, such as models",
        )
    return path


def _refuse_clashes(entries: list[Entry], place: str) -> None:
    """Two files of one path, or a file where another needs a folder."""
    times = Counter(e.path for e in entries)
    for path in times:
        above = (str(parent) for parent in PurePosixPath(path).parents)
        clash = path if times[path] > 1 else next((p for p in above if p in times), "")
        if clash:
            raise UsageError(
                f"{clash} is in the context twice",
                place=f"{place}.build.include",
                hint="include it under another path, or name the other in .gcloudignore",
            )
