"""Walking a folder, and noticing that it does not hold still."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from meshctl.errors import Refused, UsageError
from meshctl.outside.folder import Changed, entry, opened, sha256_of, text_of, walk


def everything(path: str) -> bool:
    return False


def test_files_are_listed_by_path_with_size_and_mode(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "run").write_text("12345")
    (tmp_path / "deep" / "run").chmod(0o755)
    (tmp_path / "a").write_text("1")

    found = walk(tmp_path, everything)

    assert [(e.path, e.bytes, e.executable) for e in found] == [
        ("a", 1, False), ("deep/run", 5, True),
    ]  # fmt: skip


def test_an_ignored_folder_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "cache" / "deep").mkdir(parents=True)
    asked: list[str] = []

    walk(tmp_path, lambda path: asked.append(path) or True)

    assert asked == ["cache/"]


def test_a_link_inside_is_kept(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "real").touch()
    (tmp_path / "bin" / "link").symlink_to("../real")

    found = walk(tmp_path, everything)

    assert [(e.path, e.link) for e in found] == [("bin/link", "../real"), ("real", None)]


def test_a_link_to_a_folder_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(".")

    assert [e.link for e in walk(tmp_path, everything)] == ["."]


@pytest.mark.parametrize("target", ["../outside", "/etc/passwd", "hop/../../outside"])
def test_a_link_that_points_outside_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "outside").touch()
    (tmp_path / "in" / "link").symlink_to(target)

    with pytest.raises(UsageError, match="outside the folder"):
        walk(tmp_path / "in", everything)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(UsageError, match="pipe is neither"):
        walk(tmp_path, everything)


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/\xff")).touch()

    with pytest.raises(UsageError, match="not UTF-8"):
        walk(tmp_path, everything)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        walk(tmp_path / "none", everything)


def test_a_file_that_is_written_to_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("12345")
    listed = entry("a", tmp_path / "a")

    with pytest.raises(Changed, match="a changed"), opened(listed) as file:
        file.read(1)
        (tmp_path / "a").write_text("123456")


def test_a_file_rewritten_with_the_same_size_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    os.utime(tmp_path / "a", ns=(0, 0))
    listed = entry("a", tmp_path / "a")

    (tmp_path / "a").write_text("2")

    with pytest.raises(Changed):
        sha256_of(listed)


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    listed = entry("a", tmp_path / "a")

    (tmp_path / "a").unlink()

    with pytest.raises(Changed, match="a vanished"):
        sha256_of(listed)


def test_a_link_named_one_by_one_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("12345")
    (tmp_path / "link").symlink_to("real")

    found = entry("models/x", tmp_path / "link")

    assert (found.bytes, found.link) == (5, None)
    assert sha256_of(found) == hashlib.sha256(b"12345").hexdigest()


def test_text_is_read_or_absent_or_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("ä")
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "folder").mkdir()

    assert text_of(tmp_path, "text") == "ä"
    assert text_of(tmp_path, "none") is None
    with pytest.raises(UsageError, match="not UTF-8"):
        text_of(tmp_path, "bytes")
    with pytest.raises(Refused, match="cannot be read"):
        text_of(tmp_path, "folder")
