"""Bytes of an instance become entries: whole lines, the last one unfinished, long ones cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meshctl.emulator.logging.entries import STDERR, STDOUT, Entries
from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.logging.output import Output

CHAT = Origin("p", "l", "chat", "chat-a")


def said_by(folder: Path, *chunks: tuple[str, bytes], limit: int = 1 << 20) -> list[dict[str, Any]]:
    entries = Entries(folder, limit)
    output = Output(entries, CHAT)
    for log, data in chunks:
        output.feed(log, data)
    output.end(None)
    return sorted(entries.read("p", lambda origin: True), key=lambda row: row["timestamp"])


def test_a_line_in_pieces_is_one_entry(tmp_path: Path) -> None:
    rows = said_by(tmp_path, (STDOUT, b"one tw"), (STDERR, b"x\n"), (STDOUT, b"o\r\n\nthree"))

    assert [row["textPayload"] for row in rows] == ["x", "one two", "three"]
    assert [row.get("severity") for row in rows] == [None, None, None]


def test_a_line_without_end_is_cut(tmp_path: Path) -> None:
    rows = said_by(tmp_path, (STDOUT, b"a" * 150_000))

    assert [len(row["textPayload"]) for row in rows] == [65536, 65536, 18928]


def test_json_that_is_no_object_and_odd_bytes_stay_text(tmp_path: Path) -> None:
    rows = said_by(tmp_path, (STDOUT, b'{"a": \n[1]\n\xff\n{"severity": 5}\n'))

    assert [row.get("textPayload") for row in rows] == ['{"a": ', "[1]", "\ufffd", None]
    assert (rows[3]["jsonPayload"], rows[3].get("severity")) == ({}, None)


@pytest.mark.parametrize(
    ("said", "severity"),
    [("ERROR", "ERROR"), ("warning", "WARNING"), ("DEFAULT", None), ("loud", None)],
)
def test_only_structure_says_how_grave_a_line_is(
    tmp_path: Path, said: str, severity: str | None
) -> None:
    line = f'{{"severity": "{said}", "message": "m", "model": "a"}}\n'.encode()

    [row] = said_by(tmp_path, (STDERR, line))

    assert row["jsonPayload"] == {"message": "m", "model": "a"}
    assert row.get("severity") == severity


def test_no_more_is_kept_than_the_limit_twice(tmp_path: Path) -> None:
    rows = said_by(tmp_path, *((STDOUT, b"%03d\n" % n) for n in range(200)), limit=4096)

    texts = [row["textPayload"] for row in rows]
    assert texts[-1] == "199"
    assert len(texts) < 60
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.jsonl*")) < 9000
