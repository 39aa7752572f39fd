"""A unit that starts again by itself is told from one that runs, whatever its port answers."""

from __future__ import annotations

import pytest

from meshctl.targets.podman.readings.loop import judge_loop
from meshctl.targets.podman.readings.unit import FirstCause, UnitSeen, first_cause
from meshctl.targets.podman.readings.value import Known, Unknown

RUNS = UnitSeen(
    name="chat.service", load="loaded", active="active", sub="running",
    restarts=Known[int](value=2), invocation="a" * 32, entered_us=10,
)  # fmt: skip
UNREAD = Unknown(reason="systemd does not count restarts")


def test_a_unit_that_ran_on_is_steady_however_often_it_restarted_before() -> None:
    verdict = judge_loop(RUNS, RUNS)

    assert verdict.course == "steady"


@pytest.mark.parametrize(
    ("changed", "evidence"),
    [
        ({"restarts": Known[int](value=3)}, "NRestarts went from 2 to 3"),
        ({"invocation": "b" * 32}, "InvocationID aaaaaaaa -> bbbbbbbb"),
        ({"restarts": Known[int](value=0), "invocation": "b" * 32}, "InvocationID"),
        ({"invocation": "", "entered_us": 11}, "active again"),
        ({"sub": "auto-restart", "active": "activating", "result": "exit-code"}, "next start"),
    ],
)
def test_every_trace_of_a_further_start_is_a_loop_and_its_evidence(
    changed: dict[str, object], evidence: str
) -> None:
    verdict = judge_loop(RUNS, RUNS.model_copy(update=changed))

    assert verdict.course == "restarting"
    assert any(evidence in line for line in verdict.evidence)


def test_a_unit_that_gave_up_is_down_and_says_why() -> None:
    cause = FirstCause(id="port-in-use", line="bind: address already in use")
    failed = RUNS.model_copy(update={"active": "failed", "result": "exit-code", "cause": cause})

    verdict = judge_loop(RUNS, failed)

    assert (verdict.course, verdict.cause) == ("down", cause)


@pytest.mark.parametrize(
    "changed",
    [{"restarts": UNREAD, "invocation": "", "entered_us": None}, {"active": "activating"}],
)
def test_what_cannot_be_compared_is_unclear(changed: dict[str, object]) -> None:
    verdict = judge_loop(RUNS, RUNS.model_copy(update=changed))

    assert verdict.course == "unclear" and verdict.evidence


def test_readings_of_two_units_say_nothing_of_either() -> None:
    other = RUNS.model_copy(update={"name": "other.service", "invocation": ""})

    assert judge_loop(RUNS, other).course == "unclear"


def test_the_first_cause_is_not_the_last_line() -> None:
    cause = first_cause(
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20000.00 MiB on device 0: "
        "cudaMalloc failed: out of memory\nmain: exiting due to model loading error\n"
    )

    assert cause is not None and "out of memory" in cause.line and cause.id and cause.remedy


def test_a_journal_of_no_complaint_has_no_cause() -> None:
    assert first_cause("listening on 0.0.0.0:8080\n") is None
