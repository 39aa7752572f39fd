"""One service on several hosts: few first, on from what went well, and back as a batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.cli.batches import Way, in_batches
from meshctl.cli.pairs import Pair
from meshctl.errors import Unreachable
from meshctl.plan.batches import cut
from meshctl.rollout.outcome import Outcome
from meshctl.spec.model import Rollout


class Hosts:
    """Five hosts; `codes` are the ends of those that do not go well."""

    def __init__(self, codes: dict[str, int] | None = None, **policy: object) -> None:
        self.codes = codes or {}
        self.policy = Rollout.model_validate({"batches": ["1", "60%", "100%"], **policy})
        self.tried: list[str] = []
        self.baked: list[float] = []

    def roll(self, count: int = 5) -> dict[str, Outcome]:
        way = Way(self.one, self.back, self.baked.append, lambda _: self.policy)
        pairs = [("chat", f"h{n}") for n in range(1, count + 1)]
        return {one.target: one for one in in_batches(pairs, way)}

    def one(self, pair: Pair) -> Outcome:
        self.tried.append(pair[1])
        code = self.codes.get(pair[1], 0)
        if code == 6:
            raise Unreachable("nobody answers")
        return outcome(pair, code)

    def back(self, pair: Pair, done: Outcome) -> Outcome:
        return outcome(pair, 3).model_copy(update={"message": "went back with its batch"})


def outcome(pair: Pair, code: int) -> Outcome:
    return Outcome(
        run="r", verb="deploy", service=pair[0], target=pair[1], verdict="pass", exit_code=code,
        message="it ended",
    )  # fmt: skip


def codes(ends: dict[str, Outcome]) -> dict[str, int]:
    return {host: one.exit_code for host, one in ends.items()}


def test_every_host_is_done_when_all_go_well_with_a_pause_between_batches() -> None:
    hosts = Hosts(bake="30s")

    assert codes(hosts.roll()) == dict.fromkeys(["h1", "h2", "h3", "h4", "h5"], 0)
    assert hosts.baked == [30.0, 30.0]


def test_a_failure_takes_its_batch_back_and_the_rest_is_not_begun() -> None:
    hosts = Hosts({"h3": 3})

    ends = hosts.roll()

    assert codes(ends) == {"h1": 0, "h2": 3, "h3": 3, "h4": 8, "h5": 8}
    assert hosts.tried == ["h1", "h2", "h3"]
    assert ends["h2"].message == "went back with its batch"
    assert "not begun" in ends["h4"].message


def test_the_first_failure_stops_its_own_batch_at_once() -> None:
    hosts = Hosts({"h2": 3})

    ends = hosts.roll()

    assert hosts.tried == ["h1", "h2"]
    assert "not begun" in ends["h3"].message


def test_as_many_may_fail_as_were_allowed() -> None:
    hosts = Hosts({"h2": 3}, max_failures=1)

    assert codes(hosts.roll()) == {"h1": 0, "h2": 3, "h3": 0, "h4": 0, "h5": 0}


def test_failures_of_all_batches_count_together() -> None:
    hosts = Hosts({"h1": 3, "h4": 3}, max_failures=1)

    assert codes(hosts.roll()) == {"h1": 3, "h2": 0, "h3": 0, "h4": 3, "h5": 8}


def test_a_host_that_does_not_answer_is_unknown_and_stops_nobody() -> None:
    hosts = Hosts({"h1": 6})

    assert codes(hosts.roll()) == {"h1": 6, "h2": 0, "h3": 0, "h4": 0, "h5": 0}


def test_what_needs_a_person_stops_whatever_may_fail() -> None:
    hosts = Hosts({"h1": 4}, max_failures=5)

    ends = hosts.roll()

    assert hosts.tried == ["h1"]
    assert "needs a person" in ends["h2"].message


def test_a_single_host_raises_what_it_raises() -> None:
    with pytest.raises(Unreachable):
        Hosts({"h1": 6}).roll(count=1)


@given(count=st.integers(1, 300), shares=st.lists(st.integers(1, 100), max_size=4))
def test_batches_hold_every_host_once(count: int, shares: list[int]) -> None:
    sizes = cut(count, [f"{share}%" for share in sorted(shares)])

    assert sum(sizes) == count
    assert all(size > 0 for size in sizes)


def test_shares_are_of_all_hosts_and_rounded_up() -> None:
    assert cut(10, ["1", "25%", "100%"]) == (1, 2, 7)
    assert cut(3, []) == (3,)
