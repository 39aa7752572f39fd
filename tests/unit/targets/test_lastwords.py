"""What a container said itself comes before what the cloud says of every container."""

from __future__ import annotations

import pytest

from meshctl.outside.gcp import ApiError
from meshctl.targets.cloudrun.edits import not_created, not_ready

TO_CORRECT = "correct args or env in the fleet file, then deploy again"
CLOUD = (
    "The user-provided container failed to start and listen on the port. This can happen when "
    "the port is misconfigured.\n\nLogs URL: file:///logs/v2.log\nContainer called exit(64)."
)


def test_the_own_last_line_comes_first_and_the_cloud_is_told_in_one_sentence() -> None:
    error = not_ready("chat", "v2", f"{CLOUD}\nLast output:\nloading\nout of memory")

    assert error.message == (
        "out of memory (exit 64); revision v2 did not become ready: "
        "The user-provided container failed to start and listen on the port"
    )
    assert error.hint == "fix the image or its startup probe, then deploy again"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("mesh: unknown argument 'x'\nmesh: the only command is: serve", "mesh: unknown argument"),
        ("mesh: MESH_QUEUE: 'x' is no number", "mesh: MESH_QUEUE"),
        ("usage: vllm serve\nvllm: error: unrecognized arguments: --x", "vllm: error: unrec"),
        ("error: invalid argument: --x", "error: invalid argument"),
        ('{"severity": "ERROR", "message": "mesh: MESH_QUEUE: no number"}', "mesh: MESH_QUEUE"),
    ],
)
def test_a_wrong_argument_or_variable_is_to_be_corrected_in_the_fleet_file(
    said: str, line: str
) -> None:
    error = not_ready("chat", "v2", f"{CLOUD}\nLast output:\n{said}")

    assert error.message.startswith(line)
    assert error.hint == TO_CORRECT


def test_the_root_cause_comes_before_what_follows_it_with_its_own_remedy() -> None:
    said = "ValueError: No available memory for the cache blocks\nEngineCore failed to start.\nbye"

    error = not_ready("chat", "v2", f"{CLOUD}\nLast output:\n{said}")

    assert error.message.startswith("ValueError: No available memory for the cache blocks (exit")
    assert "quantise" in error.hint


def test_a_complaint_that_nobody_knows_comes_before_the_last_line() -> None:
    error = not_ready("chat", "v2", f"{CLOUD}\nLast output:\nKeyError: 'rope'\ngoodbye")

    assert error.message.startswith("KeyError: 'rope' (exit 64)")
    assert error.hint == "fix the image or its startup probe, then deploy again"


def test_a_creation_that_failed_is_told_in_the_same_way_and_any_other_answer_as_it_is() -> None:
    died = ApiError("FAILED_PRECONDITION", f"{CLOUD}\nLast output:\nout of memory")
    denied = ApiError("PERMISSION_DENIED", "you may not")

    assert not_created("chat", "v2", died).message.startswith("out of memory (exit 64); revision")
    assert not_created("chat", "v2", denied) is denied
