"""A run whose service somebody removed or took over can be ended, and the next one begun."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.bench import Bench, call

BAKING = {"steps": [100], "bake": "6s", "token_deadline": "2s", "confirm": 1}
QUICK = {**BAKING, "bake": "0s"}
SERVICES = "/v2/projects/local/locations/local1/services"


def asks(bench: Bench, method: str, suffix: str = "", body: Any = None) -> Any:
    """One call about the service, as somebody with the console or gcloud would."""
    status, answer = call(bench.url, method, f"{SERVICES}/{bench.name}{suffix}", body)
    assert status == 200, answer
    return answer


def removes(bench: Bench) -> None:
    asks(bench, "DELETE")
    assert bench.service() is None


def containers(bench: Bench, **variables: str) -> list[dict[str, Any]]:
    """What runs in it now, with these variables beside its own."""
    service = bench.service()
    assert service is not None
    found: list[dict[str, Any]] = service["template"]["containers"]
    found[0]["env"] += [{"name": name, "value": value} for name, value in variables.items()]
    return found


def revises(bench: Bench) -> None:
    """As `gcloud run services update --update-env-vars W=1` does."""
    template = {"template": {"containers": containers(bench, W="1")}}
    asks(bench, "PATCH", "?updateMask=template", template)


def callers(bench: Bench) -> list[str]:
    bindings = asks(bench, "GET", ":getIamPolicy").get("bindings", ())
    return [member for binding in bindings for member in binding["members"]]


def killed(bench: Bench, step: str) -> None:
    """A deploy that dies once this step is begun."""
    process = bench.start("deploy", "chat", "-y")
    bench.until_event("started", step)
    process.kill()
    process.wait()


@pytest.fixture
def first(bench: Bench) -> dict[str, Any]:
    """The release that serves before anything is tried; the next one has to bake for long."""
    deployed: dict[str, Any] = bench.deploy("chat")
    bench.declare(rollout=BAKING)
    bench.env(COLOUR="blue")
    return deployed


def test_a_paused_canary_ends_with_its_service_and_the_service_is_made_anew(bench: Bench) -> None:
    bench.deploy("chat")
    bench.env(MODE="busy")
    bench.json("canary", "chat", "-y", code=7)
    removes(bench)

    rolled = bench.json("rollback", "chat", "-y", code=8)
    aborted = bench.json("abort", "chat", "-y")
    bench.env(MODE="ok")
    again = bench.deploy("chat")

    assert "`meshctl abort chat` ends run" in rolled["hint"]
    assert "does not exist any more" in aborted["message"]
    assert (aborted["restored"], aborted["left"]) == (False, [])
    assert "`meshctl deploy chat` makes it anew" in aborted["hint"]
    assert bench.split() == {again["revision"]: 100}


def test_a_rollout_whose_service_was_removed_fails_and_is_over(
    bench: Bench, first: dict[str, Any]
) -> None:
    killed(bench, "05-check")
    removes(bench)
    bench.declare(rollout=QUICK)

    resumed = bench.json("resume", "chat", code=4)
    bench.deploy("chat")

    assert "does not exist any more" in resumed["message"]
    assert resumed["left"] == ["meshctl deploy chat"]


def test_a_service_that_was_made_anew_by_a_stranger_is_touched_nowhere(
    bench: Bench, first: dict[str, Any]
) -> None:
    killed(bench, "05-check")
    body = {"template": {"containers": containers(bench)}, "invokerIamDisabled": True}
    removes(bench)
    made = call(bench.url, "POST", f"{SERVICES}?serviceId={bench.name}", body)
    bench.declare(rollout=QUICK)

    aborted = bench.json("abort", "chat", "-y")
    after, invited = bench.service(), callers(bench)
    refused = bench.deploy("chat", code=8)
    taken = bench.deploy("chat", "--take-traffic")

    assert (made[0], invited) == (200, [])
    assert after is not None and after["generation"] == "1"
    assert "another service by now" in aborted["message"]
    assert "pinned by a stranger" in refused["message"]
    assert bench.split() == {taken["revision"]: 100}


def test_a_first_release_that_a_stranger_builds_on_stays_open_and_its_run_ends(
    bench: Bench,
) -> None:
    bench.declare(rollout={**QUICK, "token_deadline": "60s"})
    bench.env(MODE="slow")
    killed(bench, "05-check")
    revises(bench)

    aborted = bench.json("abort", "chat", "-y", code=4)
    bench.env(MODE="ok")
    bench.deploy("chat", "--take-traffic")

    assert "revisions that this run did not make" in aborted["message"]
    assert callers(bench) == ["allUsers"]
    assert aborted["left"] == ["meshctl status chat"]


def test_traffic_that_a_stranger_moved_meanwhile_is_named_and_the_run_can_be_ended(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.declare(rollout=QUICK)
    second = bench.deploy("chat")
    bench.declare(rollout=BAKING)
    bench.env(COLOUR="green")
    killed(bench, "05-check")
    bench.shift({first["revision"]: 100})

    [status] = bench.json("status")["services"]
    resumed = bench.meshctl("resume", "chat")
    aborted = bench.json("abort", "chat", "-y", code=4)
    back = bench.json("rollback", "chat", "-y")

    assert status["pinned"] is True
    assert any("moved" in note and "meshctl abort chat" in note for note in status["notes"])
    assert (resumed.code, "$ meshctl abort chat" in resumed.out) == (4, True), resumed
    assert aborted["left"] == ["meshctl status chat", "meshctl rollback chat"]
    assert bench.split() == {second["revision"]: 100}
    assert back["revision"] == second["revision"]


def test_a_service_whose_callers_nobody_checks_is_not_closed_and_its_policy_stays(
    bench: Bench, first: dict[str, Any]
) -> None:
    asks(bench, "PATCH", "?updateMask=invokerIamDisabled", {"invokerIamDisabled": True})
    asks(bench, "POST", ":setIamPolicy", {"policy": {"bindings": []}})
    bench.declare(access="private", rollout=QUICK)

    refused = bench.deploy("chat", code=8)

    assert "its check of invokers is switched off" in refused["message"]
    assert "--invoker-iam-check" in refused["hint"]
    assert callers(bench) == []
    assert bench.split() == {first["revision"]: 100}
