"""First deploys, deploys beside, and what makes them fail, by process."""

from __future__ import annotations

import pytest

from tests.emulator.bench import Bench, client


def steps_of(document: dict) -> list[str]:  # type: ignore[type-arg]
    return [f"{step['kind']} {step['status']}" for step in document["steps"]]


def test_a_first_public_deploy_is_proved_before_it_is_opened(bench: Bench) -> None:
    bench.declare(checks=["contract"])

    deployed = bench.deploy("chat")

    assert (deployed["verdict"], deployed["exit_code"]) == ("pass", 0)
    assert (deployed["from_release"], deployed["restored"]) == (None, None)
    kinds = ["stage", "place", "check", "shift", "check"]
    assert steps_of(deployed) == [f"{kind} done" for kind in kinds]
    assert bench.ask()[0] == 200
    assert bench.release() == deployed["to_release"]


def test_a_private_service_is_proved_with_our_identity_and_stays_closed(bench: Bench) -> None:
    bench.declare(access="private")

    deployed = bench.deploy("chat")

    assert deployed["verdict"] == "pass"
    assert bench.ask()[0] == 403


SHOWN_BY = {
    "exit": "completion",
    "wedged": "completion",
    "lying": "completion",
    "impostor": "identity",
    "crash": "stream",
    "cut": "stream",
    "two-faced": "completion",
}
"""The one check that is enough to show each fault; the others would only take time."""


@pytest.mark.parametrize("mode", ["exit", "wedged", "lying", "impostor", "crash", "cut"])
def test_a_first_deploy_that_fails_removes_the_service(bench: Bench, mode: str) -> None:
    bench.declare(checks=[SHOWN_BY[mode]], rollout={"token_deadline": "1s"})
    bench.env(MODE=mode)

    failed = bench.deploy("chat", code=3)

    assert (failed["from_release"], failed["restored"]) == (None, True)
    assert bench.service() is None


def test_a_service_that_is_as_declared_is_up_to_date_without_a_run(bench: Bench) -> None:
    bench.deploy("chat")
    runs = bench.runs()

    again = bench.meshctl("deploy", "-y", "chat")

    assert again.code == 0
    assert "up to date" in again.out
    assert bench.runs() == runs
    assert bench.json("plan", "--exit-code")["services"][0]["steps"] == []


def test_a_changed_environment_is_placed_beside_and_takes_over(bench: Bench) -> None:
    first = bench.deploy("chat")
    bench.env(COLOUR="blue")

    with client(bench) as wrong:
        second = bench.deploy("chat")

    assert wrong == []
    assert [change["path"] for change in second["changes"]] == ["env.COLOUR"]
    assert second["from_release"] == first["to_release"]
    assert bench.split() == {second["revision"]: 100}
    assert bench.tags() == {}
    assert bench.release() == second["to_release"]


@pytest.mark.parametrize("mode", ["exit", "wedged", "lying", "impostor", "crash", "two-faced"])
def test_a_release_that_does_not_prove_itself_leaves_the_old_one_serving(
    bench: Bench, mode: str
) -> None:
    bench.declare(rollout={"steps": [50, 100], "token_deadline": "1s"})
    first = bench.deploy("chat")
    bench.declare(checks=[SHOWN_BY[mode]])
    bench.env(MODE=mode)

    failed = bench.deploy("chat", code=3)

    assert (failed["verdict"], failed["restored"]) == ("fail", True)
    assert bench.split() == {first["revision"]: 100}
    assert bench.tags() == {}
    assert bench.release() == first["to_release"]


def test_what_failed_is_told_with_its_last_words(bench: Bench) -> None:
    bench.env(MODE="exit")

    failed = bench.meshctl("deploy", "-y", "chat")

    assert failed.code == 3
    told = " ".join(failed.out.split())
    assert "removed again: the engine is out of memory (exit 3); revision" in told
    assert told.count("the engine is out of memory") == 1


def test_an_unclear_candidate_pauses_at_no_traffic_and_resume_asks_again(bench: Bench) -> None:
    first = bench.deploy("chat")
    bench.env(MODE="busy")

    paused = bench.deploy("chat", code=7)
    again = bench.json("resume", "chat", code=7)

    assert (paused["verdict"], again["verdict"]) == ("unclear", "unclear")
    assert again["run"] == paused["run"]
    assert bench.split() == {first["revision"]: 100}
    aborted = bench.json("abort", "-y", "chat")
    assert (aborted["run"], aborted["restored"]) == (paused["run"], True)
    assert bench.tags() == {}


def test_scaling_alone_makes_no_release(bench: Bench) -> None:
    first = bench.deploy("chat")
    bench.declare(scaling={"min": 1})

    scaled = bench.deploy("chat")

    assert scaled["to_release"] == first["to_release"]
    assert len(bench.revisions()) == 1
    assert (bench.service() or {})["scaling"]["minInstanceCount"] == 1


def test_access_alone_makes_no_release(bench: Bench) -> None:
    first = bench.deploy("chat")
    bench.declare(access="private")

    closed = bench.deploy("chat")

    assert closed["to_release"] == first["to_release"]
    assert len(bench.revisions()) == 1
    assert bench.ask()[0] == 403


def test_several_services_are_one_document_with_the_worst_code(bench: Bench) -> None:
    bench.declare("good")
    bench.declare("bad", env={"MODE": "lying"})
    bench.declare("unbuilt", image="other")

    document = bench.deploy("good", "unbuilt", "bad", code=3)

    assert (document["kind"], document["exit_code"]) == ("rollouts/v1", 3)
    codes = {one["service"]: one["exit_code"] for one in document["rollouts"]}
    assert codes == {"good": 0, "unbuilt": 8, "bad": 3}


def test_a_coordinator_without_mesh_in_its_args_is_refused_by_plan_and_deploy(
    bench: Bench,
) -> None:
    bench.declare(role="coordinator", args=["serve"])

    planned = bench.json("plan", code=8)
    refused = bench.deploy("chat", code=8)

    assert planned["kind"] == "plan/v1"
    assert "Permission denied" in planned["services"][0]["refused"][0]["message"]
    assert (refused["class"], refused["exit_code"]) == ("Refused", 8)
    assert bench.service() is None


def test_an_image_without_a_build_is_refused_with_the_command_that_makes_one(
    bench: Bench,
) -> None:
    bench.declare(image="other")

    refused = bench.deploy("chat", code=8)

    assert refused["hint"] == "run `meshctl build other`"


def test_a_delivery_that_cannot_fit_is_refused(bench: Bench) -> None:
    files = {"x.gguf": {"bytes": 10**12, "sha256": "0" * 64}}
    bench.payloads = {"x": {"source": "https://example.org/x.gguf", "files": files}}
    bench.declare(deliver="fetch", models={"small": {"payload": "x"}})

    planned = bench.json("plan", code=8)

    messages = [reason["message"] for reason in planned["services"][0]["refused"]]
    assert any("fetched payloads take up to" in message for message in messages)
