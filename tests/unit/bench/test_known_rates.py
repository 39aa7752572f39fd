"""A bench finds the rates of an engine whose rates are known, and differences where there are some.

The times of the engine are computed, so nothing here depends on this machine.
"""

from __future__ import annotations

import pytest

from meshctl.bench.analyse import Analysis, analyse, decode_rates
from meshctl.bench.compare import compare
from meshctl.bench.endpoint import find
from meshctl.bench.estimate import Difference
from meshctl.bench.run import Doors, bench, bench_both
from meshctl.bench.workload import Workload
from tests.fakes.rated_engine import RatedEngine

URL = "http://engine.test"
RUNS = 200
STATED = 0.05
"""What docs/bench.md promises of false alarms; the interval is drawn for one in a hundred."""


def analysed(engine: RatedEngine, workload: Workload | None = None) -> Analysis:
    endpoint = find(engine, URL, None, None)
    return analyse(bench(endpoint, workload or Workload(), Doors(engine, engine, "seed")))


def compared(a: RatedEngine, b: RatedEngine, repeats: int = 5) -> Difference:
    """Both asked in turns, as `bench compare` does; two URLs, one door that knows them apart."""
    both = Both(a, b)
    ends = (find(both, "http://a.test", None, None), find(both, "http://b.test", None, None))
    one, other = bench_both(ends, Workload(depths=(), repeats=repeats), Doors(both, both, "seed"))
    found = compare(one, other, interleaved=True)
    assert found.invalid == ()
    assert found.difference is not None
    return found.difference


class Both(RatedEngine):
    """Two engines behind one door."""

    def __init__(self, a: RatedEngine, b: RatedEngine) -> None:
        super().__init__()
        self.by_host = {"a.test": a, "b.test": b}

    def capture(self, requests, *, timeout_s):  # type: ignore[no-untyped-def]
        return self.by_host[requests[0].url.split("/")[2]].capture(requests, timeout_s=timeout_s)

    def send(self, request, *, timeout_s):  # type: ignore[no-untyped-def]
        return self.by_host[request.url.split("/")[2]].send(request, timeout_s=timeout_s)


@pytest.mark.parametrize("decode", [7.0, 80.0, 2400.0])
@pytest.mark.parametrize("per_chunk", [1, 4])
@pytest.mark.parametrize("overhead_s", [0.0, 3.0])
def test_decode_is_found_within_one_percent_whatever_stands_before_the_first_token(
    decode: float, per_chunk: int, overhead_s: float
) -> None:
    engine = RatedEngine(
        decode_per_s=decode, per_chunk=per_chunk, overhead_s=overhead_s, jitter=0.1
    )

    found = analysed(engine)

    assert found.invalid == ()
    assert found.decode_tokens_per_s is not None
    assert found.decode_tokens_per_s.median == pytest.approx(decode, rel=0.01)
    assert found.decode_tokens_per_s.n == 5


@pytest.mark.parametrize("prefill", [150.0, 2000.0, 40000.0])
@pytest.mark.parametrize("depths", [(256, 768), (128, 512, 2048)])
def test_prefill_is_found_within_one_percent_whatever_the_network_costs(
    prefill: float, depths: tuple[int, ...]
) -> None:
    engine = RatedEngine(prefill_per_s=prefill, overhead_s=0.5)

    found = analysed(engine, Workload(depths=depths))

    assert found.invalid == ()
    assert found.prefill_tokens_per_s is not None
    assert found.prefill_tokens_per_s.median == pytest.approx(prefill, rel=0.01)


def test_the_first_token_is_found_within_two_milliseconds_and_no_early_byte_is_taken_for_it() -> (
    None
):
    engine = RatedEngine(holds_s=0.001, overhead_s=0.8, prefill_per_s=1000)

    found = analysed(engine)

    words = len(engine.asked[0]["messages"][0]["content"].split())
    assert found.first_token_s and found.first_byte_s and found.headers_s and found.first_event_s
    assert found.first_token_s.median == pytest.approx(0.8 + words / 1000, abs=0.002)
    assert found.first_event_s.median == pytest.approx(0.8 + words / 1000, abs=0.002)
    assert found.first_byte_s.median == found.headers_s.median == 0.001


def test_the_gap_between_tokens_is_the_usual_one_of_each_answer() -> None:
    found = analysed(RatedEngine(decode_per_s=50, jitter=0.2))

    assert found.inter_token_s is not None
    assert found.inter_token_s.median == pytest.approx(0.02, rel=0.05)
    assert found.inter_token_s.n == 10


def test_acceptance_is_that_of_this_run_alone() -> None:
    engine = RatedEngine(acceptance=0.7)
    engine.made = 10_000

    found = analysed(engine)

    assert found.acceptance is not None
    assert found.acceptance.median == pytest.approx(0.7)


@pytest.mark.parametrize("repeats", [5, 10])
def test_equal_engines_are_called_different_at_most_as_often_as_stated(repeats: int) -> None:
    judged = [
        compared(
            RatedEngine(wobble=0.02, jitter=0.1, per_chunk=16, seed=2 * n),
            RatedEngine(wobble=0.02, jitter=0.1, per_chunk=16, seed=2 * n + 1),
            repeats,
        ).result
        for n in range(RUNS)
    ]

    assert sum(result != "none" for result in judged) <= STATED * RUNS


def test_a_difference_of_five_percent_is_found_and_its_size_lies_in_the_interval() -> None:
    found = [
        compared(
            RatedEngine(decode_per_s=84, wobble=0.005, jitter=0.05, seed=2 * n),
            RatedEngine(decode_per_s=80, wobble=0.005, jitter=0.05, seed=2 * n + 1),
            repeats=10,
        )
        for n in range(20)
    ]

    assert [one.result for one in found] == ["faster"] * 20
    assert sum(one.low <= 0.05 <= one.high for one in found) >= 18
    assert all(one.detectable < 0.05 for one in found)


def test_an_engine_may_be_compared_with_itself_at_one_url() -> None:
    engine = RatedEngine(wobble=0.01)
    endpoint = find(engine, URL, None, None)
    one, other = bench_both((endpoint, endpoint), Workload(), Doors(engine, engine, "seed"))

    found = compare(one, other, interleaved=True)

    assert found.invalid == ()
    assert found.difference is not None
    assert found.difference.result == "none"


def test_what_could_not_have_been_found_is_said_to_be_larger_on_a_restless_machine() -> None:
    quiet = compared(RatedEngine(wobble=0.003, seed=1), RatedEngine(wobble=0.003, seed=2))
    restless = compared(RatedEngine(wobble=0.05, seed=1), RatedEngine(wobble=0.05, seed=2))

    assert restless.detectable > 3 * quiet.detectable


def test_no_two_questions_begin_alike() -> None:
    engine = RatedEngine()

    analysed(engine)

    salts = [" ".join(body["messages"][0]["content"].split()[:10]) for body in engine.asked]
    assert len(set(salts)) == len(salts) == len({body["cache_salt"] for body in engine.asked})


def test_lengths_and_depths_come_in_turns_so_that_drift_strikes_both() -> None:
    turns = list(Workload(repeats=6).turns())

    decode = [ask.tokens for ask in turns if ask.kind == "decode"]
    assert decode == [128, 384, 384, 128] * 3
    assert [ask.depth for ask in turns if ask.kind == "prefill"] == [256, 768, 768, 256] * 3


def test_an_engine_that_slows_down_over_the_run_is_no_difference() -> None:
    class Tiring(Both):
        def capture(self, requests, *, timeout_s):  # type: ignore[no-untyped-def]
            for engine in self.by_host.values():
                engine.decode_per_s *= 0.995
            return super().capture(requests, timeout_s=timeout_s)

    both = Tiring(RatedEngine(), RatedEngine())
    ends = (find(both, "http://a.test", None, None), find(both, "http://b.test", None, None))
    one, other = bench_both(ends, Workload(repeats=10), Doors(both, both, "seed"))

    found = compare(one, other, interleaved=True)

    assert decode_rates(one)[-1] < 0.9 * decode_rates(one)[0]
    assert found.difference is not None
    assert found.difference.result == "none"
