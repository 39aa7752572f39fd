"""How a context is packed."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest

from meshctl.build.archive import pack
from meshctl.build.context import freeze, hashed
from meshctl.errors import Refused
from meshctl.outside.folder import Changed


def packed(folder: Path, to: Path) -> list[tarfile.TarInfo]:
    pack(hashed(freeze(folder, {}, {}, "images.mesh")), to)
    with tarfile.open(to) as tar:
        return tar.getmembers()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_nothing_of_this_machine_is_in_the_archive(folder: Path, tmp_path: Path) -> None:
    (folder / "program").write_text("run")
    (folder / "program").chmod(0o700)

    (member,) = packed(folder, tmp_path / "a.tgz")

    assert (member.uid, member.gid, member.uname, member.mtime) == (0, 0, "root", 0)
    assert member.mode == 0o755
    assert (tmp_path / "a.tgz").read_bytes()[4:8] == bytes(4)  # the time in the gzip header


def test_equal_files_are_stored_once(folder: Path, tmp_path: Path) -> None:
    for name in ("lib.so", "lib.so.1", "lib.so.1.2"):
        (folder / name).write_bytes(b"library" * 1000)

    members = packed(folder, tmp_path / "a.tgz")

    assert [(m.islnk(), m.linkname) for m in members] == [
        (False, ""), (True, "lib.so"), (True, "lib.so"),
    ]  # fmt: skip


def test_equal_files_of_different_mode_keep_their_modes(folder: Path, tmp_path: Path) -> None:
    for name, mode in (("a", 0o644), ("b", 0o755)):
        (folder / name).write_text("same")
        (folder / name).chmod(mode)

    members = packed(folder, tmp_path / "a.tgz")

    assert [(m.mode, m.islnk()) for m in members] == [(0o644, False), (0o755, False)]


def test_links_stay_links(folder: Path, tmp_path: Path) -> None:
    (folder / "real").write_text("x")
    (folder / "link").symlink_to("real")

    members = packed(folder, tmp_path / "a.tgz")

    assert [(m.name, m.issym(), m.linkname) for m in members] == [
        ("link", True, "real"), ("real", False, ""),
    ]  # fmt: skip


def test_a_file_that_changes_before_it_is_packed_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "a").write_text("one")
    contents = hashed(freeze(folder, {}, {}, "images.mesh"))

    (folder / "a").write_text("longer")

    with pytest.raises(Changed, match="a changed while it was read"):
        pack(contents, tmp_path / "a.tgz")


def test_a_file_that_vanishes_before_it_is_packed_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "a").write_text("one")
    contents = hashed(freeze(folder, {}, {}, "images.mesh"))

    (folder / "a").unlink()

    with pytest.raises(Changed, match="a vanished"):
        pack(contents, tmp_path / "a.tgz")


def test_an_archive_that_cannot_be_written_says_so(folder: Path, tmp_path: Path) -> None:
    contents = hashed(freeze(folder, {}, {}, "images.mesh"))

    with pytest.raises(Refused, match="cannot be written"):
        pack(contents, tmp_path / "missing" / "a.tgz")


def test_progress_counts_every_byte(folder: Path, tmp_path: Path) -> None:
    for name, text in (("a", "12"), ("b", "345")):
        (folder / name).write_text(text)
    seen: list[int] = []

    pack(hashed(freeze(folder, {}, {}, "images.mesh")), tmp_path / "a.tgz", seen.append)

    assert seen == [2, 5]
    assert gzip.decompress((tmp_path / "a.tgz").read_bytes())
