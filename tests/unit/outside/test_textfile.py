"""A person's file is written whole or not at all, and only over what was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshctl.errors import Refused, UsageError
from meshctl.outside.textfile import read_text, write_text


def test_what_was_read_is_replaced_and_mode_and_link_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    file.write_bytes(b"a: 1\r\n")
    file.chmod(0o640)
    link.symlink_to(file)

    write_text(link, "a: 2\r\n", was=read_text(link))

    assert link.is_symlink()
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"a: 2\r\n", 0o640)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.yaml", "real.yaml"]


@pytest.mark.parametrize("was", [None, "a: 1\n"])
def test_what_somebody_else_wrote_meanwhile_stays(tmp_path: Path, was: str | None) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text("a: 3\n")

    with pytest.raises(Refused, match="changed by somebody else"):
        write_text(file, "a: 2\n", was=was)

    assert file.read_text() == "a: 3\n"
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.yaml"]


def test_a_file_that_is_not_there_is_none_and_can_be_made(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    assert read_text(file) is None

    write_text(file, "a: 1\n", was=None)

    assert read_text(file) == "a: 1\n"


def test_what_is_no_text_or_no_file_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")

    for place in (tmp_path / "bytes", tmp_path):
        with pytest.raises(UsageError) as wrong:
            read_text(place)
        assert wrong.value.place == str(place)
