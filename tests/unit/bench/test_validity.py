"""A bench that is worth nothing says so, and why."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.bench.analyse import analyse
from meshctl.bench.endpoint import find
from meshctl.bench.raw import read_raw, write_raw
from meshctl.bench.run import Doors, bench
from meshctl.bench.session import Session
from meshctl.bench.workload import Workload
from meshctl.errors import CheckFailed, UsageError
from tests.fakes.rated_engine import RatedEngine

FLAWED: list[tuple[dict[str, Any], str, str]] = [
    ({"cached": 16}, "cached", "16 tokens of the prompt came from a cache"),
    ({"stops_at": 100}, "few-tokens", "100 tokens of 128"),
    ({"finish": "stop"}, "ended-early", "'stop'"),
    ({"usage": False}, "no-usage", "did not say"),
    ({"cpu_share": 0.95}, "client-busy", "95%"),
    ({"clock_off_s": 3600.0}, "clock", "the clocks say"),
    ({"clock_off_s": -1.0}, "clock", "the clocks say"),
    ({"strangers": 50}, "other-traffic", "were ours"),
    ({"busy": 2}, "other-traffic", "2 requests of others"),
    ({"status": 400}, "no-answer", "status 400"),
    ({"wobble": 0.9, "seed": 4}, "never-steady", "warm-up"),
]  # fmt: skip


def session(engine: RatedEngine) -> Session:
    return bench(
        find(engine, "http://engine.test/v1/", None, None),
        Workload(),
        Doors(engine, engine, "seed"),
    )


@pytest.mark.parametrize(("changes", "id_", "words"), FLAWED, ids=[row[1] for row in FLAWED])
def test_a_flaw_makes_it_invalid_by_its_name(changes: dict[str, Any], id_: str, words: str) -> None:
    found = analyse(session(RatedEngine(**changes)))

    said = {flaw.id: flaw.why for flaw in found.invalid}
    assert id_ in said
    assert words in said[id_]


def test_a_run_without_a_flaw_is_valid_and_says_that_no_token_was_cached() -> None:
    found = analyse(session(RatedEngine(jitter=0.05)))

    assert found.invalid == ()
    assert found.cached_tokens == 0


def test_without_metrics_nothing_is_said_of_others_or_of_acceptance() -> None:
    found = analyse(session(RatedEngine(metrics=False, strangers=50, acceptance=0.5)))

    assert found.invalid == ()
    assert found.acceptance is None


def test_a_dead_speed_is_no_speed_and_never_a_number() -> None:
    found = analyse(session(RatedEngine(status=503)))

    assert found.decode_tokens_per_s is None
    assert "no-speed" in {flaw.id for flaw in found.invalid}


def test_a_recording_read_again_gives_the_same_numbers() -> None:
    recorded = session(RatedEngine(jitter=0.1, acceptance=0.6))

    again = read_raw(write_raw(recorded), "run.jsonl")

    assert analyse(again) == analyse(recorded)
    assert again.provenance == recorded.provenance


def test_a_piece_that_ends_within_a_letter_survives_the_recording() -> None:
    recorded = session(RatedEngine())
    chunk = recorded.shots[-1].capture.chunks[0]
    object.__setattr__(chunk, "data", chunk.data + b": \xc3")

    again = read_raw(write_raw(recorded), "run.jsonl")

    assert again.shots[-1].capture.chunks[0].data.endswith(b": \xc3")


@pytest.mark.parametrize("line", [1, 2])
def test_a_recording_that_is_none_is_refused_with_its_line(line: int) -> None:
    lines = write_raw(session(RatedEngine())).splitlines()
    lines[line - 1] = '{"kind": "other/v1"}'

    with pytest.raises(UsageError) as raised:
        read_raw("\n".join(lines), "run.jsonl")

    assert raised.value.place == f"run.jsonl:{line}"


@pytest.mark.parametrize(
    "shape",
    [
        {"lengths": (32, 384)},
        {"lengths": (128, 255)},
        {"repeats": 4},
        {"depths": (256,)},
        {"depths": (768, 256)},
        {"prompt_tokens": 8},
    ],
)
def test_a_workload_that_could_not_be_judged_is_refused(shape: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Workload(**shape)


def test_a_model_that_is_not_listed_is_refused_and_so_is_a_server_that_lists_none() -> None:
    engine = RatedEngine()

    with pytest.raises(UsageError, match="smil"):
        find(engine, "http://engine.test", "smil", None)
    with pytest.raises(CheckFailed):
        find(engine, "http://engine.test/elsewhere", None, None)
