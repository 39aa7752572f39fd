"""Ten rollouts in a storm, by process: any exit code may come, but never a wrong one.

A cloud of its own strikes three of ten calls, in every way that can be ordered. Somebody asks each
service all the time, somebody else reads from the cloud who has traffic; what a rollout may not do
stands in `Lane.look`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.bench import Bench, Result, call, client, end
from tests.emulator.conftest import DOCKERFILE, FAKES, QUICK, RECIPE, furnish

API = r"^/v2/projects/local/"
KINDS: tuple[dict[str, Any], ...] = (
    {"do": "latency", "seconds": 0.4},
    {"do": "status", "status": 409, "error_status": "ABORTED"},
    {"do": "status", "status": 429, "error_status": "RESOURCE_EXHAUSTED"},
    {"do": "status", "status": 500, "error_status": "INTERNAL"},
    {"do": "status", "status": 503, "error_status": "UNAVAILABLE"},
    {"do": "cut"},
    {"do": "drop"},
)
EACH = 0.05
"""The probability of each of the seven; together three calls of ten are struck."""
RARE: tuple[dict[str, Any], ...] = (
    {"do": "endless", "method": "PATCH", "probability": 0.2, "times": 1},
    {"do": "unready", "method": "PATCH", "seconds": 3, "probability": 0.2, "times": 2},
)
"""An operation that never ends is waited for for 20 s, so there are few of them."""
ROLLOUTS: dict[str, tuple[dict[str, str], tuple[tuple[str, ...], ...]]] = {
    "good-a": ({}, (("deploy",),)),
    "good-b": ({}, (("deploy",), ("rollback",))),
    "good-c": ({}, (("deploy",), ("deploy",))),
    "good-d": ({}, (("canary",), ("cutover", "--steps", "5,50,100"))),
    "killed": ({}, (("deploy", "KILL"), ("resume",))),
    "killed-late": ({}, (("deploy", "KILL"), ("abort",))),
    "impostor": ({"MODE": "impostor"}, (("deploy",),)),
    "wedged": ({"MODE": "wedged"}, (("deploy",), ("resume",))),
    "busy": ({"MODE": "busy"}, (("deploy",), ("abort",))),
    "exits": ({"MODE": "exit"}, (("deploy",),)),
}
STRUCK = (AssertionError, OSError, LookupError, TypeError, ValueError)
"""What our own look at the cloud, or at a journal that is being written, may end with."""
LEGAL = {0, 3, 4, 6, 7, 8, -9}


@dataclass
class Lane:
    """One service, what it began with, and what was seen of it."""

    bench: Bench
    found: dict[str, int]
    wrong: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def look(self) -> None:
        """Who has traffic, from the cloud: only who passed, by the journal that is read after."""
        with contextlib.suppress(*STRUCK):
            split = self.bench.split()  # our own reading may be struck as well
            unproved = split.keys() - self.found.keys() - self.proved()
            if unproved:
                self.wrong.append(f"{sorted(unproved)} have traffic and never passed: {split}")

    def proved(self) -> set[str]:
        """The revisions with a recorded pass."""
        names = set()
        for run in self.bench.runs():
            events = self.bench.events(run)
            steps = {step["id"]: step for step in events[0]["data"]["plan"]["steps"]}
            for event in events:
                if event["kind"] == "verdict" and event["data"]["verdict"] == "pass":
                    names.add(steps[event["step"]]["act"]["revision"])
        return names

    def run(self, *words: str) -> None:
        """One verb to its end, or killed half-way, and what its exit code promises."""
        before = self.certain()
        result = self._process(*words)
        self.codes.append(result.code)
        now = self.certain()
        told = json.loads(result.out) if result.out.strip() else {}
        if result.code not in LEGAL or "internal error" in result.out:
            self.wrong.append(f"{words}: {result.code}\n{result.out}\n{result.err}")
        gives = words[0] in ("deploy", "cutover", "rollback")
        if result.code == 0 and gives and now != {told["revision"]: 100}:
            self.wrong.append(f"{words}: 0, but traffic is {now}\n{result.out}")
        if result.code in (3, 7) and words[0] != "resume" and now != before:
            self.wrong.append(f"{words}: {result.code}, but {before} became {now}\n{result.out}")

    def _process(self, *words: str) -> Result:
        options = [word for word in words[1:] if word != "KILL"]
        process = self.bench.start("-o", "json", words[0], "chat", "-y", *options)
        if "KILL" in words:
            time.sleep(2.5)
            process.kill()
        return end(process, timeout_s=110)

    def certain(self) -> dict[str, int]:
        """The split, read until the storm lets it through."""
        while True:
            with contextlib.suppress(*STRUCK):
                return self.bench.split()


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Bench]:
    """An embedded cloud that nobody else needs, with the small image in it."""
    bench = Bench(tmp_path / "cloud", "true", "cloud")
    context = bench.folder / "context"
    context.mkdir(parents=True)
    for name in ("small_image.py", "fake_engine.py"):
        shutil.copy(FAKES / name, context / name)
    (context / "small_image.py").chmod(0o755)
    (context / "Dockerfile").write_text(DOCKERFILE)
    (bench.folder / "recipe.yaml").write_text(RECIPE)
    bench.declare()
    bench.url = bench.json("emulator", "start")["url"]
    call(bench.url, "PUT", "/emulator/settings", QUICK)
    bench.declare()
    bench.json("build", "small")
    yield bench
    call(bench.url, "DELETE", "/emulator/faults")
    bench.json("emulator", "stop")


def lane(cloud: Bench, folder: Path, name: str) -> Lane:
    """A service with one good release, and another one declared."""
    bench = Bench(folder / name, cloud.url, f"storm-{name}")
    furnish(bench, cloud)
    bench.declare(rollout={"steps": [5, 50, 100], "token_deadline": "5s", "confirm": 1})
    first = bench.deploy("chat")
    bench.env(COLOUR="blue", **ROLLOUTS[name][0])
    return Lane(bench, {first["revision"]: 100})


def breaks_loose(cloud: Bench) -> None:
    orders = [{**kind, "path": API, "probability": EACH, "times": None} for kind in KINDS]
    orders += [{**kind, "path": API} for kind in RARE]
    for seed, order in enumerate(orders):
        status, said = call(cloud.url, "POST", "/emulator/faults", {**order, "seed": seed})
        assert status == 200, said


def weathered(one: Lane, name: str) -> None:
    """The verbs of a rollout in the storm, with somebody who asks and somebody who watches."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            one.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for words in ROLLOUTS[name][1]:
            one.run(*words)
    finally:
        done.set()
        watcher.join()


def settled(one: Lane) -> None:
    """In calm weather what is unfinished is ended, and one release has everything."""
    for words in (("resume",), ("abort",)):
        result = one.bench.meshctl(words[0], "chat", "-y")
        one.codes.append(result.code)
        assert result.code in (0, 3, 4, 7, 8), result.err
    split = one.certain()
    assert list(split.values()) == [100], split
    assert split.keys() <= one.found.keys() | one.proved()


@pytest.mark.timeout(240)
def test_ten_rollouts_in_a_storm_break_no_law(cloud: Bench, tmp_path: Path) -> None:
    with ThreadPoolExecutor(len(ROLLOUTS)) as pool:
        made = pool.map(lambda name: lane(cloud, tmp_path, name), ROLLOUTS)
        lanes = dict(zip(ROLLOUTS, made, strict=True))
        with contextlib.ExitStack() as stack:
            clients = {name: client(one.bench, every_s=0.5) for name, one in lanes.items()}
            heard = {name: stack.enter_context(one) for name, one in clients.items()}
            breaks_loose(cloud)
            list(pool.map(lambda name: weathered(lanes[name], name), ROLLOUTS))
            call(cloud.url, "DELETE", "/emulator/faults")
            list(pool.map(settled, lanes.values()))

    assert {name: one.wrong for name, one in lanes.items() if one.wrong} == {}
    assert {name: wrong for name, wrong in heard.items() if wrong} == {}
    assert any(0 in one.codes for one in lanes.values()), "a storm that lets nothing through"
