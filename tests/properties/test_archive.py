"""An archive depends on nothing but the files, and holds exactly them."""

from __future__ import annotations

import os
import tarfile
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.build.archive import pack
from meshctl.build.context import freeze, hashed
from meshctl.emulator.untar import extract

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
).filter(lambda name: name not in (".", "..", ".gitignore", ".gcloudignore", ".git"))
CONTENTS = st.one_of(st.binary(max_size=64), st.sampled_from([b"", b"same", b"x" * 5000]))
FILES = st.dictionaries(NAMES, st.tuples(CONTENTS, st.booleans()), max_size=8)
TREES = st.dictionaries(NAMES, FILES, max_size=3)

Tree = dict[str, dict[str, tuple[bytes, bool]]]


def write(tree: Tree, root: Path, mtime: int) -> None:
    for folder, files in tree.items():
        (root / folder).mkdir()
        for name, (data, executable) in files.items():
            path = root / folder / name
            path.write_bytes(data)
            path.chmod(0o755 if executable else 0o600)
            os.utime(path, (mtime, mtime))


def read(root: Path) -> Tree:
    found: Tree = {}
    for path in root.rglob("*"):
        if path.is_file():
            executable = bool(path.stat().st_mode & 0o100)
            folder = found.setdefault(path.parent.name, {})
            folder[path.name] = (path.read_bytes(), executable)
    return found


def packed(tree: Tree, scratch: Path, name: str, mtime: int) -> Path:
    (scratch / name).mkdir()
    write(tree, scratch / name, mtime)
    to = scratch / f"{name}.tgz"
    pack(hashed(freeze(scratch / name, {}, {}, "images.x")), to)
    return to


@settings(deadline=None, max_examples=60)
@given(tree=TREES)
def test_the_same_files_give_the_same_bytes_and_come_out_as_they_went_in(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)

        first = packed(tree, scratch, "first", mtime=1)
        second = packed(tree, scratch, "second", mtime=1_000_000_000)

        assert first.read_bytes() == second.read_bytes()
        with tarfile.open(first) as tar:
            extract(tar, scratch / "out")
        out = read(scratch / "out")
        assert out == {name: files for name, files in tree.items() if files}
