"""How a stretch of time is said in which something happened."""

from __future__ import annotations

import pytest

from meshctl.plan.period import Period


@pytest.mark.parametrize(
    ("since", "until", "told"),
    [
        ("2026-12-01T03:13:00Z", "2026-12-01T04:13:00Z", "between 2026-12-01 03:13 and 04:13 UTC"),
        (
            "2026-11-30T23:30:00Z",
            "2026-12-01T00:30:00Z",
            "between 2026-11-30 23:30 and 2026-12-01 00:30 UTC",
        ),
    ],
)
def test_a_period_says_both_ends_and_the_day_of_the_end_only_where_it_is_another(
    since: str, until: str, told: str
) -> None:
    assert str(Period(since=since, until=until)) == told
