"""What a coordinator announces is what the last run that was done said, in its own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.state.peers import announced, read_announced
from tests import builders

ONE = '[{"id":"a","baseUrl":"https://a.run.app","models":["far"]}]'
OTHER = "b=https://b.run.app|away"


def test_nothing_is_announced_where_no_run_ever_said_so() -> None:
    known = announced(builders.ledger(builders.ledger_run("v1")))

    assert (known.text, known.entries, known.run) == ("", (), None)


def test_the_last_run_that_was_closed_with_one_counts_whoever_came_after_it() -> None:
    ledger = builders.ledger(
        builders.ledger_run("v1", peers=ONE),
        builders.ledger_run("v2", peers=OTHER, verb="peer-add"),
        builders.ledger_run("v3"),
        builders.ledger_run("v4", peers=ONE, state="fenced"),
    )

    known = announced(ledger)

    assert known.text == OTHER
    assert known.entry("b") is not None and known.entry("a") is None


def test_an_empty_announcement_is_one() -> None:
    ledger = builders.ledger(
        builders.ledger_run("v1", peers=ONE), builders.ledger_run("v2", peers="")
    )

    assert (announced(ledger).text, announced(ledger).entries) == ("", ())


@pytest.mark.parametrize("recorded", ["[{", "a", [["x"]], {"id": "a"}, 7])
def test_what_cannot_be_read_is_unknown_and_never_nobody(recorded: object) -> None:
    known = announced(builders.ledger(builders.ledger_run("v1", peers=recorded)))

    assert known.entries is None
    assert known.why


@given(st.text())
def test_any_text_is_an_announcement_or_has_a_reason(text: str) -> None:
    known = read_announced(text)

    assert (known.entries is None) == bool(known.why)
