"""What files hashed to is believed while they are as they were, and never when it is nonsense."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from meshctl.outside.digests import Digests
from meshctl.outside.folder import Entry, entry

SHA = "a" * 64


@pytest.fixture
def digests(tmp_path: Path) -> Digests:
    return Digests(tmp_path / "digests")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "file"
    made.write_text("one")
    return made


def listed(file: Path) -> Entry:
    return entry("in/context", file)


def test_a_file_is_known_by_where_it_is_until_size_or_time_change(
    digests: Digests, file: Path
) -> None:
    digests.keep("mesh", {listed(file): SHA})
    same = digests.known("mesh", (listed(file),))
    another = digests.known("other", (listed(file),))
    os.utime(file, (1, 1))
    touched = digests.known("mesh", (listed(file),))

    assert (same, another, touched) == ({"in/context": SHA}, {}, {})


def test_the_last_build_is_all_that_is_remembered(digests: Digests, file: Path) -> None:
    digests.keep("mesh", {listed(file): SHA})
    digests.keep("mesh", {})

    assert digests.known("mesh", (listed(file),)) == {}


@pytest.mark.parametrize(
    "row", [None, [], 7, "x", [3], [3, 4], [3, 4, None], [3, 4, "b" * 63], [3, 4, SHA, 1]]
)
def test_a_memory_that_makes_no_sense_is_none(digests: Digests, file: Path, row: object) -> None:
    listing = listed(file)
    if isinstance(row, list):
        row = [{3: listing.bytes, 4: listing.mtime_ns}.get(one, one) for one in row]
    digests.folder.mkdir()
    (digests.folder / "mesh.json").write_text(json.dumps({str(file): row}))

    assert digests.known("mesh", (listing,)) == {}


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\udcff"])
def test_a_file_that_is_no_memory_is_none(digests: Digests, file: Path, text: str) -> None:
    digests.folder.mkdir()
    (digests.folder / "mesh.json").write_bytes(text.encode("utf-8", "surrogateescape"))

    assert digests.known("mesh", (listed(file),)) == {}


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path, file: Path) -> None:
    (tmp_path / "digests").write_text("a file")

    Digests(tmp_path / "digests").keep("mesh", {listed(file): SHA})

    assert Digests(tmp_path / "digests").known("mesh", (listed(file),)) == {}
