"""Minimums, what they cost, and taking away what nobody uses, by process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.bench import Bench, call, until

PRICES = """
prices:
  as_of: "2026-11-30"
  source: a contract
  regions: {local1: {vcpu: 0.0001, gib: 0.00001}}
"""
SMALL = {"cpu": 1, "memory": "512Mi"}
HOUR = 3600 * (0.0001 + 0.00001 / 2)
"""What an instance of 1 processor and half a GiB costs by these prices."""


@pytest.fixture
def first(bench: Bench) -> dict[str, Any]:
    """The release that serves before anything is tried."""
    deployed: dict[str, Any] = bench.deploy("chat")
    return deployed


def priced(bench: Bench, **changes: Any) -> None:
    """The fleet file with these changes, and with prices for the embedded region."""
    bench.declare("chat", resources=SMALL, **changes)
    bench.file.write_text(bench.file.read_text() + PRICES)


def strange_tag(bench: Bench, tag: str, revision: str) -> None:
    """A tag that somebody puts on a revision behind meshctl's back."""
    service = bench.service() or {}
    rows = [{k: v for k, v in row.items() if k != "uri"} for row in service["traffic"]]
    rows.append({"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", "revision": revision,
                 "tag": tag})  # fmt: skip
    path = f"/v2/projects/local/locations/local1/services/{bench.name}?updateMask=traffic"
    status, body = call(bench.url, "PATCH", path, {"traffic": rows})
    assert status == 200, body


def failed_canary(bench: Bench, tag: str) -> str:
    """A candidate that failed and was kept for a look; its revision."""
    bench.env(MODE="lying")
    failed = bench.json("canary", "chat", "-y", "--tag", tag, "--keep", code=3)
    return str(failed["revision"])


def test_gc_takes_the_tag_of_a_failed_candidate_and_no_other(
    bench: Bench, first: dict[str, Any]
) -> None:
    candidate = failed_canary(bench, "old")
    strange_tag(bench, "theirs", candidate)

    listed = bench.json("gc", "chat", "--dry-run")
    unasked = bench.meshctl("gc", "chat")
    gone = bench.json("gc", "chat", "-y")

    assert [(t["tag"], t["verdict"], t["ours"]) for t in listed["tags"]] == [
        ("old", "stale", True), ("theirs", "kept", False),
    ]  # fmt: skip
    assert listed["tags"][0]["command"] == "meshctl gc chat --tag old --yes"
    assert (unasked.code, "--yes" in unasked.err) == (64, True)
    assert [t["status"] for t in gone["tags"]] == ["removed", "found"]
    assert bench.tags() == {"theirs": candidate}
    assert bench.split() == {first["revision"]: 100}
    assert bench.events(gone["runs"][0])[0]["data"]["verb"] == "gc"


def test_after_gc_status_knows_who_it_was_and_gc_finds_nothing_more(
    bench: Bench, first: dict[str, Any]
) -> None:
    failed_canary(bench, "old")
    bench.json("gc", "-y")
    before = bench.runs()

    again = bench.json("gc", "-y")

    assert (again["tags"], again["runs"], bench.runs()) == ([], [], before)
    assert bench.json("status")["services"][0]["pinned"] is False
    bench.env(MODE="ok", COLOUR="blue")
    assert bench.deploy("chat")["exit_code"] == 0


def test_a_candidate_that_passed_waits_until_its_tag_is_named(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.env(COLOUR="blue")
    bench.json("canary", "chat", "-y", "--tag", "next")

    kept = bench.json("gc", "chat", "-y")
    named = bench.json("gc", "chat", "--tag", "next", "-y")
    unknown = bench.json("gc", "chat", "--tag", "next", "-y", code=64)

    assert "waits: `meshctl cutover chat`" in kept["tags"][0]["why"]
    assert (kept["runs"], named["tags"][0]["status"]) == ([], "removed")
    assert bench.tags() == {}
    assert unknown["hint"] == "there are: none"


def test_a_service_minimum_changes_without_a_revision_and_the_plan_says_what_it_costs(
    bench: Bench, first: dict[str, Any]
) -> None:
    priced(bench, scaling={"min": 0, "max": 2})
    bench.deploy("chat")
    revisions = len(bench.revisions())
    priced(bench, scaling={"min": 1, "max": 2})

    plan = bench.json("plan", "chat")
    text = bench.meshctl("plan", "chat").out
    bench.deploy("chat")

    entry = plan["services"][0]
    assert [step["kind"] for step in entry["steps"]] == ["place", "check"]
    assert any("makes no revision" in note for note in entry["notes"])
    assert entry["cost"]["before"]["idle"] == {
        "instances": 0, "usd_per_hour": 0, "usd_per_month": 0,
    }  # fmt: skip
    assert entry["cost"]["after"]["idle"]["usd_per_hour"] == pytest.approx(HOUR)
    assert entry["cost"]["after"]["full"]["usd_per_hour"] == pytest.approx(2 * HOUR)
    assert text.count("prices of 2026-11-30: a contract") == 1
    assert (len(bench.revisions()), (bench.service() or {})["scaling"]["minInstanceCount"]) == (
        revisions, 1,
    )  # fmt: skip


def test_a_warm_candidate_is_named_with_its_cost_and_the_command_that_ends_it(
    bench: Bench,
) -> None:
    priced(bench, scaling={"min": 1, "max": 1, "min_per": "revision"})
    bench.deploy("chat")
    bench.env(COLOUR="blue")
    priced(bench)
    canary = bench.json("canary", "chat", "-y", "--tag", "next")

    status = bench.json("status", "chat")
    cost = bench.json("cost")
    command = next(n for n in status["services"][0]["notes"] if "its own minimum" in n)
    ended = bench.json(*command.split("`")[1].split()[1:], "-y")

    warm = status["services"][0]["cost"]["warm"]
    assert [(w["revision"], w["tags"], w["instances"]) for w in warm] == [
        (canary["revision"], ["next"], 1)
    ]
    assert cost["idle"]["usd_per_hour"] == pytest.approx(2 * HOUR)
    assert f"USD {HOUR:.2f}/h" in command
    assert ended["tags"][0]["status"] == "removed"
    assert bench.json("cost")["idle"]["usd_per_hour"] == pytest.approx(HOUR)


def test_gc_says_how_much_it_looked_at_also_when_nothing_can_go(
    bench: Bench, first: dict[str, Any]
) -> None:
    bench.declare("other")

    told = bench.json("gc")
    shown = bench.meshctl("gc")
    services = bench.json("gc", "--services")

    assert told["looked_at"] == {"services": 1, "not_deployed": 1, "revisions": 1, "tags": 0}
    assert shown.out.splitlines()[0] == (
        "looked at 1 service (1 more is not deployed), 1 revision, 0 tags"
    )
    assert services["looked_at"]["services"] >= 1


def strange_service(bench: Bench, name: str) -> None:
    """A service with a GPU that somebody else made and that nobody ever asked anything."""
    mine = (bench.service() or {})["template"]["containers"][0]
    limits = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    template = {
        "containers": [{"image": mine["image"], "args": mine["args"], "env": mine["env"],
                        "resources": {"limits": limits, "cpuIdle": False}}],
        "nodeSelector": {"accelerator": "nvidia-l4"},
        "gpuZonalRedundancyDisabled": True,
        "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2",
        "scaling": {"maxInstanceCount": 1},
    }  # fmt: skip
    path = f"/v2/projects/local/locations/local1/services?serviceId={name}"
    status, body = call(bench.url, "POST", path, {"template": template})
    assert status == 200, body
    until(lambda: is_ready(bench.service(name) or {}))


def is_ready(service: dict[str, Any]) -> bool:
    return bool(service["terminalCondition"]["state"] == "CONDITION_SUCCEEDED")


def test_a_gpu_service_of_no_fleet_goes_by_name_when_it_is_said_to_be_stale(
    bench: Bench, first: dict[str, Any]
) -> None:
    name = f"{bench.name}-old"
    strange_service(bench, name)

    listed = bench.json("gc", "--services", "-y")
    refused = bench.json("gc", name, "--services", "-y", code=8)
    unasked = bench.meshctl("gc", name, "--services", "--stale")
    removed = bench.json("gc", name, "--services", "--stale", "-y")

    entry = next(one for one in listed["services"] if one["name"] == name)
    assert (entry["verdict"], entry["gpu"], entry["status"]) == ("unknown", "nvidia-l4", "found")
    assert bench.name not in [one["name"] for one in listed["services"]]
    assert f"meshctl gc {name} --services --stale" in refused["hint"]
    assert unasked.code == 64
    assert [one["status"] for one in removed["services"]] == ["removed"]
    assert bench.service(name) is None
    assert bench.split() == {first["revision"]: 100}


def test_what_the_fleet_declares_is_never_removed_as_stale(
    bench: Bench, first: dict[str, Any]
) -> None:
    refused = bench.json("gc", bench.name, "--services", "--stale", "-y", code=8)

    assert "declared in the fleet file" in refused["message"]
    assert bench.split() == {first["revision"]: 100}
