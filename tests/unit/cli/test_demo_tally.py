"""What the demo's client counts, and when a demo is a good one."""

from __future__ import annotations

import pytest

from meshctl.cli.demo.tally import REASONS_KEPT, Tally
from meshctl.ui.answers import Demo, DemoClient, DemoScene


def scene(code: int = 0, expected: int = 0) -> DemoScene:
    return DemoScene(
        name="s", command="c", exit_code=code, expected_exit_code=expected, seconds=0.1
    )


def test_the_longest_gap_is_between_two_good_answers_whatever_failed_between_them() -> None:
    tally = Tally(since=10.0)

    tally.good(11.0)
    tally.bad("503")
    tally.good(14.5)
    tally.close(15.0)

    assert (tally.requests, tally.failed, tally.longest_gap_s) == (3, 1, 3.5)


def test_the_time_before_the_first_good_answer_and_after_the_last_one_count() -> None:
    silent, fell_silent = Tally(since=0.0), Tally(since=0.0)

    silent.close(7.0)
    fell_silent.good(1.0)
    fell_silent.close(9.0)

    assert (silent.longest_gap_s, fell_silent.longest_gap_s) == (7.0, 8.0)


def test_the_first_reasons_are_kept() -> None:
    tally = Tally(since=0.0)

    for number in range(REASONS_KEPT + 2):
        tally.bad(f"reason {number}")

    assert tally.failed == REASONS_KEPT + 2
    assert tally.reasons == [f"reason {number}" for number in range(REASONS_KEPT)]


@pytest.mark.parametrize(
    ("scenes", "requests", "failed", "ok"),
    [
        ((scene(), scene(3, expected=3)), 5, 0, True),
        ((scene(), scene(0, expected=3)), 5, 0, False),
        ((scene(),), 5, 1, False),
        ((scene(),), 0, 0, False),
    ],
)
def test_a_demo_is_good_when_all_is_as_expected_and_a_client_was_never_let_down(
    scenes: tuple[DemoScene, ...], requests: int, failed: int, ok: bool
) -> None:
    client = DemoClient(requests=requests, failed=failed, longest_gap_s=0.1)

    assert Demo.of(scenes, client).ok is ok
