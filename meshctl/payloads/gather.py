"""Gathers who may refer to files: links beside them, processes of this machine, named texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from meshctl.outside.disk import Seen, Walk, walk
from meshctl.outside.procfs import Process
from meshctl.payloads.references import Found, References, Text, Unsearched

LARGEST = 4 * 2**20
"""Bytes of one text that is searched: an env file, a unit, a workflow; no weights."""


def texts_of(paths: Iterable[Path]) -> References:
    """What env files, units or scripts say, and all files of folders of those. One that cannot be
    read, or is too large to be a text, could not be searched."""
    found = References()
    for path in paths:
        if not path.is_dir():
            found += _text(path)
            continue
        walked = walk(path)
        for one in walked.seen:
            found += _text(path / one.path)
        unseen = (
            Unsearched(str(path / folder), "it cannot be read") for folder in walked.unreadable
        )
        found += References(unsearched=tuple(unseen))
    return found


def _text(path: Path) -> References:
    try:
        if path.stat().st_size > LARGEST or not path.is_file():
            return References(unsearched=(Unsearched(str(path), "it is no text"),))
        said = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        why = error.strerror or "it cannot be read"
        return References(unsearched=(Unsearched(str(path), why),))
    return References(texts=(Text(str(path), said),))


def said_by(running: Sequence[Process]) -> References:
    """The command lines of processes, word by word, and their environments."""
    words = [Text(one.shown, one.command) for one in running if not _only_asks(one)]
    variables = [
        Text(f"{one.shown}, its environment", one.environ, quiet=True)
        for one in running
        if one.environ
    ]
    return References((*words, *variables))


def _only_asks(one: Process) -> bool:
    """Another `meshctl payload` names a file, and serves nothing from it."""
    words = one.command.split("\n")
    return "payload" in words and any(word.rpartition("/")[2] == "meshctl" for word in words)


def opened_by(running: Sequence[Process], files: Sequence[Seen], folder: Path) -> Iterator[Found]:
    """Who has one of these files open, or mapped into memory."""
    for one in running:
        for seen in files:
            path = str(folder.resolve() / seen.path)
            if seen.identity in (one.files or ()) or path in (one.mapped or ()):
                yield Found(seen.path, one.shown, "has it open or mapped")


def links_to(walked: Walk, files: Sequence[Seen], folder: Path) -> Iterator[Found]:
    """Links below the folder that lead to one of these files, or to a folder that it lies in."""
    home = folder.resolve()
    links = [one.path for one in walked.seen if one.kind == "link"]
    leading = {path: os.path.realpath(home / path) for path in links}
    targets = {path: to for path, to in leading.items() if to.startswith(f"{home}/")}
    for seen in files:
        real = str(home / seen.path)
        for path, target in targets.items():
            if real == target or real.startswith(f"{target}/"):
                yield Found(seen.path, f"the link {path}", f"leads to {target}")
