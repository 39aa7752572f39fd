"""What journald prints is read, and what is no entry is passed over."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from meshctl.observe.journald import command, lines_of
from meshctl.observe.logs import Line

ENTRY = {
    "__CURSOR": "s=1;i=2",
    "__REALTIME_TIMESTAMP": "1764559800123456",
    "PRIORITY": "3",
    "MESSAGE": "failed to load model",
}


def test_an_entry_is_a_line_with_its_moment_and_severity() -> None:
    [line] = lines_of(json.dumps(ENTRY) + "\n", "attic")

    assert line == Line(
        "2025-12-01T03:30:00.123456Z", "s=1;i=2", "ERROR", "attic", "failed to load model"
    )


def test_bytes_come_as_numbers_and_a_line_that_was_too_long_as_null() -> None:
    rows = [ENTRY | {"MESSAGE": list("é!".encode())}, ENTRY | {"MESSAGE": None}]

    told = [line.text for line in lines_of("\n".join(map(json.dumps, rows)), "")]

    assert told == ["é!", "(an entry without text)"]


def test_a_unit_is_asked_for_the_newest_lines_since_then_or_behind_a_cursor() -> None:
    first = command("chat.service", user=False, since_s=3600, limit=200, severity=None)
    later = command(
        "chat.service", user=True, since_s=60, limit=5, severity="ERROR", after="s=1;i=2"
    )

    assert first == (
        "journalctl", "--unit=chat.service", "--output=json", "--no-pager", "--lines=200",
        "--since=-3600s",
    )  # fmt: skip
    assert later[1:3] == ("--user", "--unit=chat.service")
    assert later[-2:] == ("--after-cursor=s=1;i=2", "--priority=3")


@given(st.text())
def test_nothing_that_is_printed_breaks_the_reading(text: str) -> None:
    lines_of(text, "")
    lines_of(json.dumps({key: text for key in ENTRY}), "")


@given(st.dictionaries(st.sampled_from(sorted(ENTRY)), st.integers() | st.lists(st.integers())))
def test_entries_of_other_shapes_are_read_as_far_as_they_go(entry: dict[str, object]) -> None:
    [line] = lines_of(json.dumps(entry), "")

    assert line.severity == "DEFAULT" and line.at == ""
