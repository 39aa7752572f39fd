"""Filters say what they mean, or are refused by the part that is not understood."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.emulator.failures import ApiError
from meshctl.emulator.filters import Condition, microseconds, parse

FIELDS = ("severity", "timestamp", "text", "resource.type")


def one(text: str) -> Condition:
    (condition,) = parse(text, FIELDS)
    return condition


@pytest.mark.parametrize(
    ("filter", "found", "holds"),
    [
        ('text="Chat"', "chat", True),
        ('text="chat"', "chat-peer", False),
        ('text:"at-p"', "chat-peer", True),
        ('text!="chat"', None, True),
        ('text="chat"', None, False),
        (r'text="a \"b\" \\"', 'a "b" \\', True),
        ('text=("a" OR "b")', "b", True),
        ('text!=("a" OR "b")', "b", False),
        ("severity>=warning", "ERROR", True),
        ("severity>WARNING", "WARNING", False),
        ("severity<INFO", "DEFAULT", True),
        ('timestamp>="2026-01-01T00:00:00Z"', "2026-01-01T00:00:00.000000Z", True),
        ('timestamp<"2026-01-01T01:00:00+01:00"', "2026-01-01T00:00:00Z", False),
        ('timestamp<"2026-01-01T00:00:00.000000999Z"', "2026-01-01T00:00:00Z", False),
    ],
)
def test_a_condition_holds_or_not(filter: str, found: Any, holds: bool) -> None:
    assert one(filter).holds(found) is holds


@pytest.mark.parametrize("between", [" AND ", " ", "\n", "\n\nAND\n"])
def test_conditions_are_joined_by_and_a_space_or_a_line(between: str) -> None:
    fields = [c.field for c in parse(f'resource.type = "x"{between}severity>=INFO', FIELDS)]

    assert fields == ["resource.type", "severity"]


@pytest.mark.parametrize(
    ("filter", "named"),
    [
        ('text="a" OR text="b"', "'OR'"),
        ('-text="a"', "'-text'"),
        ('text=("a" AND "b")', "group of values of 'text'"),
        ('text=("a"', "group of values of 'text'"),
        ("text", "'text' without a comparison"),
        ('text="open', "'\"open'"),
        ('AND text="a"', "'AND'"),
        ('other="a"', "'other'"),
        ("timestamp>2026", "'2026'"),
        ('timestamp>"2026-01-01T00:00:00"', "'2026-01-01T00:00:00'"),
    ],
)
def test_what_is_not_understood_is_named(filter: str, named: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse(filter, FIELDS)

    assert named in refused.value.message
    assert refused.value.status == "INVALID_ARGUMENT"


def test_times_are_read_to_the_microsecond() -> None:
    assert microseconds("1970-01-01T00:00:01.000002Z") == 1_000_002
    assert microseconds("1970-01-01T01:00:00+01:00") == 0
    assert microseconds("today") is None
