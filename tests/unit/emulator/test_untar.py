"""Nothing that a tar file says is written or reached outside its folder, on any Python."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from meshctl.emulator.untar import Escape, extract

Member = tuple[str, bytes, str]


def packed(*members: Member) -> tarfile.TarFile:
    """Members as (name, type, link name); files hold their own name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, link in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode = kind, link, 0o4755
            data = name.encode() if kind == tarfile.REGTYPE else b""
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    buffer.seek(0)
    return tarfile.open(fileobj=buffer)


@pytest.mark.parametrize(
    "members",
    [
        [("../out", tarfile.REGTYPE, "")],
        [("a/../../out", tarfile.REGTYPE, "")],
        [("/tmp/meshctl-out", tarfile.REGTYPE, "")],
        [("link", tarfile.SYMTYPE, "/etc/passwd")],
        [("a/link", tarfile.SYMTYPE, "../../out")],
        [("hard", tarfile.LNKTYPE, "../out")],
        [("pipe", tarfile.FIFOTYPE, "")],
        [("disk", tarfile.BLKTYPE, "")],
    ],
    ids=lambda members: members[0][0],
)
def test_a_member_that_leaves_the_folder_is_refused(members: list[Member], tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()

    with pytest.raises(Escape):
        extract(packed(*members), inside)

    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_nothing_is_written_through_a_link_that_was_there_before(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "door").symlink_to(outside)

    with pytest.raises(Escape):
        extract(packed(("door/file", tarfile.REGTYPE, "")), inside)

    assert list(outside.iterdir()) == []


def test_files_folders_and_links_inside_come_out_without_setuid(tmp_path: Path) -> None:
    tar = packed(
        ("a", tarfile.DIRTYPE, ""),
        ("a/file", tarfile.REGTYPE, ""),
        ("a/soft", tarfile.SYMTYPE, "file"),
        ("hard", tarfile.LNKTYPE, "a/file"),
    )

    extract(tar, tmp_path)

    assert (tmp_path / "a/soft").read_text() == (tmp_path / "hard").read_text() == "a/file"
    assert (tmp_path / "hard").stat().st_ino == (tmp_path / "a/file").stat().st_ino
    assert (tmp_path / "a/file").stat().st_mode & 0o7777 == 0o755
