"""A state in a bucket: machines that share nothing else know the same, by process."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meshctl.outside.clock import SystemClock
from meshctl.outside.gcp import Calls, bypass_proxies_on_loopback
from meshctl.outside.objects import DirStore
from meshctl.outside.objects_place import BucketPlace, open_bucket, place_of
from tests.emulator.bench import Bench, call, end
from tests.emulator.conftest import forget
from tests.fakes.buckets import KEYS, s3_server

Machine = Callable[[str], Bench]


@pytest.fixture(params=["gs"])
def environ(request: pytest.FixtureRequest, built: Bench) -> Iterator[dict[str, str]]:
    """What a machine must know to find the state: of this test alone."""
    own = f"p{zlib.crc32(request.node.nodeid.encode()):08x}"
    if request.param == "gs":
        call(built.url, "POST", "/storage/v1/b?project=local", {"name": "states"})
        yield {"MESHCTL_STATE": f"gs://states/{own}", "STORAGE_EMULATOR_HOST": built.url}
        return
    with s3_server("states") as url:
        yield {**KEYS, "MESHCTL_STATE": f"s3://states/{own}", "AWS_ENDPOINT_URL_S3": url}


@pytest.fixture
def machine(
    built: Bench,
    environ: dict[str, str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Machine]:
    """Makes machines with an empty disk but for the fleet file of one and the same service."""
    bypass_proxies_on_loopback()
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    _remember_the_build(built, environ)
    made: list[Bench] = []

    def make(name: str) -> Bench:
        service = f"s{zlib.crc32(request.node.nodeid.encode()):08x}"
        bench = Bench(tmp_path / name, built.url, service)
        bench.folder.mkdir()
        for part in ("context", "recipe.yaml"):
            (bench.folder / part).symlink_to(built.folder / part)
        bench.declare()
        made.append(bench)
        return bench

    yield make
    for bench in made:
        bench.stop()
    forget(made[0])


def _remember_the_build(built: Bench, environ: dict[str, str]) -> None:
    """What `meshctl build small` would have written into this state."""
    place = place_of(environ["MESHCTL_STATE"])
    assert isinstance(place, BucketPlace)
    store = open_bucket(place, environ, SystemClock(), Calls())
    for key in (folder := DirStore(built.folder / ".meshctl/state")).list("builds/"):
        stored = folder.read(key)
        assert stored and store.create(key, stored.data)


def two_releases(first: Bench) -> list[str]:
    """Deploy twice; the revisions in their order."""
    old = first.deploy("chat")["revision"]
    first.env(COLOUR="blue")
    return [old, first.deploy("chat")["revision"]]


@pytest.mark.parametrize("environ", ["gs", "s3"], indirect=True)
def test_a_machine_with_an_empty_disk_rolls_back(machine: Machine) -> None:
    first = machine("first")
    old, _ = two_releases(first)
    left = [path for path in (first.folder / ".meshctl").rglob("*") if path.is_file()]
    shutil.rmtree(first.folder)

    back = machine("second").json("rollback", "chat", "-y")

    assert left == [], "nothing that matters may be left on one disk"
    assert (back["exit_code"], back["revision"]) == (0, old)
    assert machine("third").json("history", "chat")["releases"][0]["verb"] == "rollback"


def test_without_a_fleet_file_the_state_alone_suffices(machine: Machine, tmp_path: Path) -> None:
    first = machine("first")
    old, new = two_releases(first)
    bare = machine("bare")
    bare.file.unlink()

    back = bare.json("rollback", "chat", "-y")

    assert (back["exit_code"], back["revision"]) == (0, old)
    assert first.split() == {old: 100}
    known = {entry["revision"] for entry in first.json("history", "chat")["releases"]}
    assert known == {old, new}


def test_of_two_runners_at_once_exactly_one_gets_the_lock(machine: Machine) -> None:
    first, second = machine("first"), machine("second")
    runners = [bench.start("-o", "json", "deploy", "chat", "-y") for bench in (first, second)]

    ended = [end(process) for process in runners]

    assert sorted(one.code for one in ended) == [0, 5], [one.err for one in ended]
    assert next(one.json for one in ended if one.code == 5)["class"] == "LockHeld"


def test_another_machine_resumes_what_was_killed(machine: Machine) -> None:
    first = machine("first")
    killed = first.meshctl("deploy", "chat", "-y", MESHCTL_DRILL="after:6")

    resumed = machine("second").json("resume", "chat")

    assert (killed.code, resumed["exit_code"]) == (-9, 0)


def test_an_answer_that_is_lost_makes_nothing_twice(machine: Machine) -> None:
    """Every fifth write of the state is done, and its answer dropped."""
    first = machine("first")
    order = {"do": "drop", "method": "POST", "path": "/upload/storage/v1/b/states/", "times": 1}
    for after in range(1, 30, 5):
        call(first.url, "POST", "/emulator/faults", {**order, "after": after})

    deployed = first.deploy("chat")

    assert deployed["exit_code"] == 0
    checked = first.json("state", "check")
    assert (checked["problems"], checked["runs"]) == ([], 1)


def test_the_state_is_checked_and_a_gap_in_it_is_named(
    machine: Machine, environ: dict[str, str]
) -> None:
    first = machine("first")
    run = first.deploy("chat")["run"]
    well = first.json("state", "check")
    prefix = environ["MESHCTL_STATE"].removeprefix("gs://states/")
    path = f"{prefix}/runs/{run}/000003.json".replace("/", "%2F").replace(":", "%3A")
    assert call(first.url, "DELETE", f"/storage/v1/b/states/o/{path}")[0] == 204

    broken = first.json("state", "check", code=9)
    refused = first.meshctl("deploy", "chat", "-y")

    assert (well["kind"], well["runs"], well["problems"]) == ("state/v1", 1, [])
    assert well["endpoint"] == first.url and well["proved"]
    (problem,) = broken["problems"]
    assert problem["place"] == f"runs/{run}" and "3" in problem["message"]
    assert refused.code == 8 and run in refused.err


def test_a_bucket_that_is_missing_names_the_way_out(machine: Machine) -> None:
    missing = machine("first").json("status", "--state", "gs://nobodys/x", code=64)

    assert missing["place"] == "gs://nobodys"
    assert "gcloud storage buckets create gs://nobodys" in missing["hint"]


def test_no_network_is_unreachable_and_nothing_was_changed(machine: Machine) -> None:
    lost = machine("first").json(
        "deploy", "chat", "-y", code=6, STORAGE_EMULATOR_HOST="http://127.0.0.1:9"
    )

    assert "127.0.0.1:9" in lost["place"]


def calls(bench: Bench, *words: str) -> list[str]:
    """The calls to the state that -v told of, those about the lock left out: how often it is asked
    for depends on the steps, and how often its lease is renewed on the time."""
    result = bench.meshctl("-v", *words, "-y")
    assert result.code == 0, result.err
    lines = [line.split() for line in result.err.splitlines()]
    return [line[2] for line in lines if line[:2] == [".", "state"] and "/locks/" not in line[3]]


AT_MOST = {
    "deploy": {"list": 4, "get": 4, "put": 14},
    "deploy again": {"list": 2, "get": 4, "put": 0},
    "plan": {"list": 2, "get": 3, "put": 0},
    "status": {"list": 2, "get": 3, "put": 0},
    "history": {"list": 2, "get": 3, "put": 0},
}
"""As docs/state.md says."""


def test_the_calls_to_the_state_are_no_more_than_is_said(machine: Machine) -> None:
    first = machine("first")

    made = {verb: calls(first, *words) for verb, words in {
        "deploy": ("deploy", "chat"), "deploy again": ("deploy", "chat"), "plan": ("plan",),
        "status": ("status",), "history": ("history", "chat"),
    }.items()}  # fmt: skip

    for verb, kinds in AT_MOST.items():
        counted = {kind: made[verb].count(kind) for kind in kinds}
        assert all(counted[kind] <= kinds[kind] for kind in kinds), f"{verb}: {counted}"
        assert set(made[verb]) <= set(kinds)
    assert made["deploy"].count("put") == 14
