"""Peers come in proved and go out the other way round, by process, with the real mesh."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshctl.ui.federation import Peers
from tests.emulator.bench import call, until
from tests.emulator.federation import Federation, model

DOCS = Path(__file__).parents[2] / "docs/peers.md"
KILLED = -9


def peers(federation: Federation, *words: str, code: int = 0) -> Any:
    """What a command about peers printed, proved to be of its kind."""
    document = federation.json("peer", *words, code=code)
    assert Peers.model_validate(document).data() == document
    return document


def test_a_private_peer_is_placed_announced_and_answers_through_the_coordinator(
    federation: Federation,
) -> None:
    federation.deploy("chat")

    result = federation.meshctl("-o", "json", "peer", "add", "peer-a", "-y")
    added, talk = result.json, " ".join(result.err.split())
    again = peers(federation, "add", "peer-a", "-y")
    planned = federation.json("plan")

    assert Peers.model_validate(added).data() == added
    assert "announced next: chat is rolled out for that" in talk
    assert "`meshctl peer add" not in talk

    assert [one["verb"] for one in added["rollouts"]] == ["deploy", "peer-add"]
    [row] = added["peers"]
    assert (row["name"], row["announced"], row["recorded"], row["drift"]) == (
        "peer-a", True, True, [],
    )  # fmt: skip
    assert federation.announced() == ["peer-a"]
    assert [federation.asks(name)[0] for name in ("near", "far")] == [200, 200]
    assert (again["rollouts"], again["peers"]) == ([], added["peers"])
    assert [one["steps"] for one in planned["services"]] == [[], []]


def test_a_peer_that_does_not_answer_through_the_coordinator_is_not_announced(
    federation: Federation,
) -> None:
    federation.deploy("chat")
    federation.peer("peer-a", far=model("lying"))
    federation.declare("peer-a", checks=["identity"])
    before = federation.split_of()

    added = peers(federation, "add", "peer-a", "-y", code=3)

    placed, announced = added["rollouts"]
    assert (placed["exit_code"], announced["exit_code"]) == (0, 3)
    assert "answered without a token" in announced["message"]
    assert announced["restored"] is True
    assert federation.split_of() == before
    assert added["peers"][0]["recorded"] is False
    assert federation.asks("far")[0] == 404


def test_a_peer_goes_out_by_a_rollout_of_the_coordinator_and_its_service_stays(
    federation: Federation,
) -> None:
    federation.deploy("chat")
    peers(federation, "add", "peer-a", "-y")

    removed = federation.meshctl("peer", "remove", "peer-a", "-y", "-q")
    again = peers(federation, "remove", "peer-a", "-y")

    name = f"{federation.name}-peer-a"
    delete = f"gcloud run services delete {name} --region local1 --project local"
    assert removed.code == 0, removed.err
    assert f"  $ {delete}" in removed.out.splitlines()
    assert (again["rollouts"], again["delete"]) == ([], delete)
    assert federation.announced() == []
    assert federation.asks("far")[0] == 404
    assert federation.service(f"{federation.name}-peer-a") is not None
    path = f"/v2/projects/local/locations/local1/services/{name}"
    assert call(federation.url, "DELETE", path)[0] == 200
    until(lambda: federation.service(name) is None, 30)
    gone = peers(federation, "remove", "peer-a", "-y")
    assert gone["delete"] == "", "nothing is left to be removed"
    assert "peer-a has no service any more" in gone["notes"]


@pytest.mark.timeout(180)
def test_an_addition_that_is_killed_is_gone_on_with_by_saying_it_again_or_by_resume(
    federation: Federation,
) -> None:
    federation.deploy("chat")
    killed = [federation.meshctl("peer", "add", "peer-a", "-y", MESHCTL_DRILL=f"{side}:{number}")
              for side, number in (("before", 4), ("after", 8), ("before", 6))]  # fmt: skip
    in_between = peers(federation, "list")["peers"][0]

    first = federation.meshctl("peer", "add", "peer-a", "-y", MESHCTL_DRILL="after:14")
    resumed = federation.meshctl("resume", "chat")
    last = peers(federation, "add", "peer-a", "-y")

    assert [one.code for one in (*killed, first)] == [KILLED] * 4
    assert in_between["recorded"] is False
    assert (resumed.code, last["rollouts"]) == (0, []), resumed.err
    assert (last["peers"][0]["announced"], last["peers"][0]["recorded"]) == (True, True)
    assert federation.asks("far")[0] == 200


def test_a_verdict_that_turned_bad_is_drift_and_takes_nobody_out(federation: Federation) -> None:
    federation.deploy("chat")
    peers(federation, "add", "peer-a", "-y")
    federation.declare("peer-a", priority=3)
    runs = federation.folder / ".meshctl/state/runs"
    _fail_the_last_verdict(runs, f"{federation.name}-peer-a")

    listed = peers(federation, "list")["peers"][0]
    synced = peers(federation, "sync", "-y")

    assert listed["verdict"] == "fail"
    assert any("it stays announced" in drift for drift in listed["drift"])
    assert any("priority 0 -> 3" in drift for drift in listed["drift"])
    assert (synced["rollouts"], federation.announced()) == ([], ["peer-a"])
    assert "stays announced as it was" in synced["notes"][0]


def _fail_the_last_verdict(runs: Path, name: str) -> None:
    """As a `verify` that failed would have left it; the engine itself cannot be made to fade."""
    newest = max((path for path in runs.iterdir() if path.name.startswith(f"{name}.")),
                 key=lambda path: path.name.split(".")[-2])  # fmt: skip
    last = max(newest.glob("*.json"))
    last.write_text(last.read_text().replace('"verdict":"pass"', '"verdict":"fail"'))


def test_a_cpu_only_peer_and_a_coordinator_that_is_not_there_are_refused(
    federation: Federation,
) -> None:
    missing = federation.json("peer", "add", "peer-a", "-y", code=8)
    federation.declare("peer-a", resources={"cpu": 1, "memory": "512Mi", "gpu": None})
    planned = federation.json("plan", "peer-a", code=8)

    assert missing["message"] == "chat does not exist on local"
    assert federation.service(f"{federation.name}-peer-a") is None
    reasons = [one["message"] for one in planned["services"][0]["refused"]]
    assert any("CPU-only services are not viable peers" in reason for reason in reasons)


def test_validate_warns_of_two_families_and_of_models_that_are_never_asked_for(
    federation: Federation,
) -> None:
    federation.peer("peer-a", near=model(), qwen3=model())
    federation.declare("peer-a", default_model="near")

    checked = federation.json("validate")

    said = [one["message"] for one in checked["warnings"]]
    assert said == [
        "one peer for several model families (near, qwen) swaps between them",
        "chat answers for near itself and never asks this peer",
    ]


@pytest.fixture
def quickly_idle(federation: Federation) -> Iterator[Federation]:
    """Instances that nobody asks go after a second."""
    call(federation.url, "PUT", "/emulator/settings", {"idle_seconds": 1.0})
    yield federation
    call(federation.url, "PUT", "/emulator/settings", {"idle_seconds": 900.0})


ASKING = (
    ("status",), ("plan",), ("peer", "list"), ("history", "peer-a"),
    ("env", "diff", "chat", "peer-a"), ("peer", "add", "peer-a", "-y"), ("deploy", "-y"),
)  # fmt: skip


@pytest.mark.timeout(120)
def test_a_sleeping_peer_is_asked_nothing_by_whoever_only_looks(quickly_idle: Federation) -> None:
    """That the mesh asks nothing in an hour is shown by tests/contract/mesh/test_idle_hour.py; here
    it is left alone for some seconds."""
    federation = quickly_idle
    federation.declare("peer-a", access="public")  # so that every request would be counted
    federation.deploy("chat")
    peers(federation, "add", "peer-a", "-y")
    federation.asks("far")
    until(lambda: _asleep(federation), 30)
    before = federation.heard()

    ended = {words: federation.meshctl(*words).code for words in ASKING}
    listed = federation.asks("near")[0]
    time.sleep(3)

    assert set(ended.values()) == {0}, ended
    assert listed == 200
    assert federation.heard() == before != []
    assert _asleep(federation)
    assert federation.asks("far")[0] == 200
    assert len(federation.heard()) > len(before)


def _asleep(federation: Federation) -> bool:
    """No instance of the peer runs: each has the name of its service in its environment."""
    name = f"K_SERVICE={federation.name}-peer-a".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if name in path.read_bytes().split(b"\0"):
                return False
        except OSError:
            continue
    return True


def test_the_commands_of_the_guide_do_what_it_says(federation: Federation) -> None:
    typed = re.findall(r"^\$ meshctl (.+)$", DOCS.read_text(), re.MULTILINE)

    codes = {words: federation.meshctl(*words.split(), "-y").code for words in typed}

    assert len(typed) > 6
    assert set(codes.values()) == {0}, codes
