"""The trash beside payloads: which files went into it, when and why, and how each comes back.

`.meshctl-trash/RETIREMENT/` holds `manifest.json`, written before the first file is moved;
`RESTORE.txt`, the same for people; and `files/`, which looks as the folder of the payloads does.
What became of an item is read from the disk, not from the manifest: a process may die anywhere.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from meshctl.errors import Refused
from meshctl.outside.disk import Seen, look
from meshctl.outside.moves import move, remove
from meshctl.payloads.declared import TRASH
from meshctl.payloads.manifest import ENDING

NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z(-[0-9]{1,4})?")
LARGEST = 16 * 2**20
"""Bytes of a manifest at most: some 20,000 items."""


def _inside(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError("is not a path below the folder")
    if parts[0] == TRASH:
        raise ValueError("lies in the trash itself")
    return path


class Item(BaseModel):
    """One file. `path` is relative to the folder of the payloads; inode and time of change tell it
    from another file of that name. `restore` is a command for a shell."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    path: Annotated[str, AfterValidator(_inside)]
    bytes: int = Field(ge=0)
    real: int = Field(ge=0)
    sha256: str | None = Field(pattern=r"^[0-9a-f]{64}$")
    mtime_ns: int
    inode: int
    restore: str


class Retirement(BaseModel):
    """Files that were retired together."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: Literal["payload-trash/v1"] = "payload-trash/v1"
    name: str = Field(pattern=f"^{NAME.pattern}$")
    at: str
    who: str
    reason: str
    folder: str
    warning: str
    stays: tuple[str, ...]
    ignored: tuple[str, ...]
    items: tuple[Item, ...]

    def text(self) -> str:
        """As it is written."""
        return self.model_dump_json(indent=2) + "\n"


@dataclass(frozen=True)
class Place:
    """The folder of the payloads, whose trash it is about."""

    folder: Path

    @property
    def trash(self) -> Path:
        return self.folder / TRASH

    def home(self, retirement: str) -> Path:
        """The folder of one retirement."""
        return self.trash / retirement

    def kept(self, retirement: str, item: Item) -> Path:
        """Where a retired file lies."""
        return self.home(retirement) / "files" / item.path

    def original(self, item: Item) -> Path:
        """Where it was, and comes back to."""
        return self.folder / item.path


State = Literal["trash", "place", "gone"]


def item_name(retirement: str, item: Item) -> str:
    """By which people name it: `20261130T204500Z/qwen/x.gguf`."""
    return f"{retirement}/{item.path}"


def state_of(place: Place, retirement: str, item: Item) -> State:
    """Where a file is now. One that was changed in the trash is still there; one that somebody put
    in its old place since is another one."""
    if seen_in_trash(place, retirement, item) is not None:
        return "trash"
    here = look(place.folder, item.path)
    return "place" if here is not None and is_it(here, item) else "gone"


def seen_in_trash(place: Place, retirement: str, item: Item) -> Seen | None:
    """The file in the trash; None where there is none, or a link leads out of the trash."""
    home = place.home(retirement)
    folders = ["files", *item.path.split("/")[:-1]]
    steps = [home.joinpath(*folders[:n]) for n in range(len(folders) + 1)]
    if any(step.is_symlink() for step in (place.trash, *steps)):
        return None
    return look(home / "files", item.path)


def is_it(seen: Seen, item: Item) -> bool:
    """Whether a file is the one that was retired, unchanged."""
    found = (seen.kind, seen.bytes, seen.mtime_ns, seen.inode)
    return found == ("file", item.bytes, item.mtime_ns, item.inode)


def take(place: Place, retirement: str, item: Item) -> None:
    """Move it into the trash with its manifest, as far as that is not done."""
    kept, original = place.kept(retirement, item), place.original(item)
    here = look(place.folder, item.path)
    if here is not None and is_it(here, item):
        move(original, kept)
    if _exists(beside(original)) and not _exists(beside(kept)):
        move(beside(original), beside(kept))


def give_back(place: Place, retirement: str, item: Item) -> None:
    """Move it back, as far as that is not done. Raises Refused where its place is taken: nothing is
    overwritten, not even a manifest, which is left behind then."""
    kept, original = place.kept(retirement, item), place.original(item)
    if _exists(kept):
        _refuse_links(place, original)
        move(kept, original)
    if _exists(beside(kept)) and not _exists(beside(original)):
        move(beside(kept), beside(original))


def delete(place: Place, retirement: str, item: Item) -> None:
    """For good, with its manifest."""
    kept = place.kept(retirement, item)
    remove(kept)
    remove(beside(kept))


def beside(file: Path) -> Path:
    """The manifest of a fetched file."""
    return file.with_name(f"{file.name}{ENDING}")


def _exists(path: Path) -> bool:
    """Also a link that leads nowhere."""
    return path.is_symlink() or path.exists()


def _refuse_links(place: Place, original: Path) -> None:
    """A folder that became a link since would lead the file elsewhere."""
    for step in original.relative_to(place.folder).parents:
        if (place.folder / step).is_symlink() and step != Path():
            raise Refused(
                f"{step} is a link by now, and would lead the file elsewhere",
                place=str(original),
                hint="put a folder in the place of the link, then run the same command again",
            )


def restore_command(place: Place, retirement: str, path: str, *, with_manifest: bool) -> str:
    """For any shell, from any folder, and never over another file."""
    kept = (place.home(retirement) / "files" / path).absolute()
    original = (place.folder / path).absolute()
    pairs = [(kept, original)]
    if with_manifest:
        pairs.append((beside(kept), beside(original)))
    moves = [f"mv -n -- {shlex.quote(str(a))} {shlex.quote(str(b))}" for a, b in pairs]
    return " && ".join([f"mkdir -p -- {shlex.quote(str(original.parent))}", *moves])


def restore_text(retirement: Retirement) -> str:
    """What a person finds in the trash who has no meshctl."""
    lines = [f"# retired {retirement.at} by {_flat(retirement.who)}"]
    lines += [f"# why: {_flat(retirement.reason)}"] if retirement.reason else []
    lines += [f"# WARNING: {_flat(retirement.warning)}"] if retirement.warning else []
    lines += ["# one command for each file; nothing is overwritten", ""]
    return "\n".join([*lines, *(item.restore for item in retirement.items)]) + "\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


def retirements(place: Place) -> Iterator[Retirement]:
    """Those that can be read, the oldest first. Raises Refused for one that somebody damaged: what
    it holds is not known, so nothing of it may be moved or deleted."""
    for name in homes(place):
        found = _read(place.home(name))
        if found is not None:
            yield found


def homes(place: Place) -> list[str]:
    """The names of all retirements, also of those that have no manifest yet, or no longer."""
    if not place.trash.is_dir() or place.trash.is_symlink():
        return []
    found = (home for home in place.trash.iterdir() if NAME.fullmatch(home.name))
    return sorted(home.name for home in found if home.is_dir() and not home.is_symlink())


def _read(home: Path) -> Retirement | None:
    """None for a folder that was made, and nothing moved into it yet."""
    path = home / "manifest.json"
    try:
        if path.stat().st_size > LARGEST:
            raise _damaged(path)
        found = Retirement.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise _damaged(path) from error
    if found.name != home.name:
        raise _damaged(path)
    return found


def _damaged(path: Path) -> Refused:
    return Refused(
        "this manifest of the trash cannot be read, so what it holds is not known",
        place=str(path),
        hint=f"see {path.with_name('RESTORE.txt')} and `ls -R`; then move that folder away by hand",
    )
