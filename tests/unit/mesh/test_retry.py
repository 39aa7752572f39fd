"""A lost request is sent again so often, and not for ever."""

from __future__ import annotations

from meshctl.mesh.retry import DEATHS, Tries


def test_a_request_that_nobody_took_is_sent_as_often_as_allowed() -> None:
    tries: Tries | None = Tries(3)
    count = 0

    while tries := tries.after_refusal():
        count += 1

    assert count == 3


def test_a_request_that_outlives_too_many_engines_is_not_given_to_another() -> None:
    tries: Tries | None = Tries(100)
    count = 0

    while tries := tries.after_death():
        count += 1

    assert count == DEATHS


def test_deaths_count_as_tries() -> None:
    assert Tries(1).after_death() == Tries(0, deaths=1)
    assert Tries(0).after_death() is None


def test_a_stale_connection_costs_no_try_and_counts_as_one_that_had_the_request() -> None:
    tries = Tries(0).after_stale()

    assert (tries.left, tries.deaths, tries.fresh) == (0, 1, True)
    assert not Tries(5).fresh
    assert Tries(5).after_stale().after_death() == Tries(4, deaths=2)
