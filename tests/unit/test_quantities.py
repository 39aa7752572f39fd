"""Sizes and durations: read strictly, printed the way people say them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meshctl.quantities import (
    BYTES,
    MOST_BYTES,
    cpu_text,
    parse_bytes,
    parse_seconds,
    show_bytes,
    show_minute,
    show_second,
    show_seconds,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [("32Gi", 2**35), ("32GiB", 2**35), ("1.5G", 1_500_000_000), ("7", 7), (" 512 Mi ", 2**29)],
)
def test_sizes_are_read(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "Gi", "-1Gi", "1gi", "1 2", "1e3", "1Gi!", "infinity"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1h30m", 5400), ("250ms", 0.25), ("1.5m", 90), ("2d", 172800)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "s", "-1s", "1 m", "1h 30m", "1y", "5s!"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (2**35, "32 GiB"),
     (2**50, "1024 TiB")],
)  # fmt: skip
def test_sizes_are_shown(count: int, text: str) -> None:
    assert show_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.42, "0.4s"), (9.99, "10s"), (0.04, "0s"), (59.4, "59s"), (75, "1m15s"),
     (3600, "1h"), (7265, "2h1m5s")],
)  # fmt: skip
def test_durations_are_shown(seconds: float, text: str) -> None:
    assert show_seconds(seconds) == text


def test_just_under_a_minute_is_not_sixty_seconds() -> None:
    assert show_seconds(59.7) == "1m"


def test_times_are_shown_as_in_tables_and_what_is_none_stays_as_it_is() -> None:
    moment = "2026-11-30T20:45:12.345678Z"

    assert (show_minute(moment), show_second(moment)) == (
        "2026-11-30 20:45 UTC", "2026-11-30 20:45:12 UTC",
    )  # fmt: skip
    assert [show_minute(text) for text in ("an unknown time", "")] == ["an unknown time", ""]


@pytest.mark.parametrize(("cpu", "text"), [(1.0, "1"), (8, "8"), (0.5, "500m"), (0.08, "80m")])
def test_processors_have_one_spelling(cpu: float, text: str) -> None:
    assert cpu_text(cpu) == text


@given(st.integers(0, 2**60), st.sampled_from(sorted(BYTES)))
def test_a_whole_number_of_any_unit_is_read_exactly_enough(number: int, unit: str) -> None:
    assume(number * BYTES[unit] < MOST_BYTES)

    read = parse_bytes(f"{number}{unit}")

    assert read == pytest.approx(number * BYTES[unit], rel=1e-15)


@pytest.mark.parametrize("text", ["9" * 400, f"{2**63}B", "٣GiB", "9999999999TiB"])
def test_a_size_that_nothing_can_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is more than any disk holds|is not a size"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["9" * 400 + "s", "99999999999999d", "٣s"])
def test_a_duration_that_no_clock_counts_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is longer than a hundred years|is not a duration"):
        parse_seconds(text)


@given(st.integers(0, 10**6))
def test_what_is_shown_is_read_again(seconds: int) -> None:
    assert parse_seconds(show_seconds(seconds)) == seconds
