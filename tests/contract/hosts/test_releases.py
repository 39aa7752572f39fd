"""Releases on a host: the same rollout as everywhere, by the scripts that hosts run."""

from __future__ import annotations

import itertools
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from meshctl.errors import LockHeld, Refused
from meshctl.outside.clock import SystemClock
from meshctl.outside.http import RealHttp
from meshctl.outside.interrupts import Interrupts
from meshctl.outside.who import Who
from meshctl.plan.move import Move
from meshctl.plan.steps import Plan
from meshctl.rollout import verbs
from meshctl.rollout.ground import Ground
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.wish import Wish
from meshctl.spec.load import load
from meshctl.spec.model import Fleet, PodmanTarget, Rollout
from meshctl.state.journal import Event
from meshctl.targets.podman.target import HostTarget
from tests.contract.hosts.local_host import LocalHost
from tests.fakes.memory_store import MemoryStore

ENGINE = Path(__file__).parents[2] / "fakes" / "fake_engine.py"
PLACE = PodmanTarget(kind="podman", address="ops@attic", user=True)
FLEET = """\
meshctl: 1
fleet: home
targets: {{attic: {{kind: podman, address: ops@attic, user: "true"}}}}
images: {{none: {{ref: "host/none@sha256:{digest}"}}}}
services:
  small:
    target: attic
    image: none
    runtime: exec
    command: [{python}, {engine}]
    args: [--port, "{port}", --model, small{args}]
    port: {port}
    models: {{small: {{}}}}
    rollout: {{token_deadline: 2s, confirm: 0}}
"""


class Died(BaseException):
    """meshctl was killed."""


class World:
    """One service on one host; every verb is a new process with a new salt."""

    def __init__(self, folder: Path) -> None:
        self.door = LocalHost(folder)
        self.store = MemoryStore()
        self.http, self.clock = RealHttp(), SystemClock()
        self.follow: Callable[[Event], None] = lambda _: None
        self.salts = itertools.count(1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def fleet(self, *args: str) -> Fleet:
        words = "".join(f", {arg}" for arg in args)
        text = FLEET.format(python=sys.executable, engine=ENGINE, port=self.port, args=words,
                            digest="1" * 64)  # fmt: skip
        return load(text, "meshctl.yaml", {})

    def ground(self, store: MemoryStore | None = None) -> Ground:
        interrupts = Interrupts()
        target = HostTarget("attic", PLACE, self.door, self.http, self.clock, interrupts=interrupts)
        return Ground(
            store=store or self.store,
            clock=self.clock,
            http=self.http,
            who=Who("ann", "desk", "boot", 7, 7),
            target=target,
            place=PLACE,
            key="small",
            name="small",
            interrupts=interrupts,
            stage=lambda act: target.stage("small", act),
            follow=self.follow,
            salt=f"s{next(self.salts):03d}",
        )

    def deploy(self, *args: str, take: bool = False, store: MemoryStore | None = None) -> Outcome:
        wish = Wish(self.fleet(*args), None, take_traffic=take)
        return verbs.deploy(self.ground(store), wish, yes)

    def rollback(self, to: str | None = None, store: MemoryStore | None = None) -> Outcome:
        ground = self.ground(store)
        return verbs.rollback(ground, lambda: move(ground), to, yes)

    def serving(self) -> str:
        from meshctl.outside.http import Request

        body = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        told = self.http.send(Request(url, "POST", body=body), timeout_s=10.0)
        return told.body.decode().partition('"content": "')[2].partition('"')[0]

    def dies_after(self, number: int) -> None:
        """Killed once the N-th event is on disk."""
        seen = itertools.count(1)

        def follow(_: Event) -> None:
            if next(seen) == number:
                raise Died

        self.follow = follow

    def lives(self) -> None:
        self.follow = lambda _: None


def yes(_: Plan) -> None:
    """The answer to every question."""


def move(ground: Ground) -> Move:
    policy = Rollout.model_validate({"token_deadline": "2s", "confirm": 0})
    return Move(key="small", name="small", target="attic", ledger=ground.ledger(), policy=policy)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.door.end()


def test_one_release_takes_the_place_of_the_other_and_the_first_is_kept(world: World) -> None:
    first = world.deploy("--reply", "one")
    second = world.deploy("--reply", "two")

    assert (first.exit_code, second.exit_code, world.serving()) == (0, 0, "two")
    assert second.from_release == first.to_release
    files = sorted(file.name for file in (world.door.kept / "small").glob("small-*"))
    assert len(files) == 2


def test_what_is_up_to_date_costs_one_round_trip(world: World) -> None:
    world.deploy("--reply", "one")
    world.door.commands.clear()

    again = world.deploy("--reply", "one")

    assert (again.exit_code, again.run) == (0, "")
    assert len(world.door.commands) == 1


def test_a_unit_that_was_stopped_by_somebody_is_started_by_the_next_deploy(world: World) -> None:
    first = world.deploy("--reply", "one")
    world.door.run("", _systemctl("stop", "small.service"))

    again = world.deploy("--reply", "one")

    assert (again.exit_code, again.to_release, world.serving()) == (0, first.to_release, "one")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--mode", "none-such"), "started again"),
        (("--mode", "lying"), "without a token"),
        (("--mode", "crash"), "NRestarts"),
    ],
    ids=["broken", "lies", "crashes"],
)
def test_what_does_not_prove_itself_is_taken_back(
    world: World, args: tuple[str, ...], said: str
) -> None:
    first = world.deploy("--reply", "one")

    failed = world.deploy(*args)

    assert (failed.exit_code, failed.restored, world.serving()) == (3, True, "one")
    assert said in f"{failed.message} {failed.evidence}"
    assert failed.traffic == {first.revision: 100}


def test_a_first_release_that_fails_leaves_nothing_behind(world: World) -> None:
    failed = world.deploy("--mode", "lying")

    assert (failed.exit_code, failed.restored) == (3, True)
    assert not list(world.door.units.glob("*"))
    assert not (world.door.kept / "small").exists()


def test_what_systemd_refuses_stops_nothing(world: World) -> None:
    world.deploy("--reply", "one")
    (world.door.home / "refuse").touch()

    refused = world.deploy("--reply", "two")

    assert (refused.exit_code, world.serving()) == (8, "one")
    assert "systemd refuses the unit: unit: Unknown key" in refused.message


def test_a_rollback_needs_no_journal(world: World) -> None:
    first = world.deploy("--reply", "one")
    world.deploy("--reply", "two")

    back = world.rollback(store=MemoryStore())

    assert (back.exit_code, back.to_release, world.serving()) == (0, first.to_release, "one")


def test_a_rollback_that_goes_nowhere_is_refused_and_stops_nothing(world: World) -> None:
    world.deploy("--reply", "one")

    with pytest.raises(Refused):
        world.rollback()

    assert world.serving() == "one"


def test_a_strangers_unit_is_kept_to_the_byte_and_comes_back(world: World) -> None:
    own = f"# mine\n[Service]\nExecStart={sys.executable} {ENGINE} --port {world.port}\n"
    world.door.units.mkdir(parents=True)
    (world.door.units / "small.service").write_text(own)
    world.door.run("", _systemctl("start", "small.service"))

    with pytest.raises(Refused, match="not what meshctl last put there"):
        world.deploy("--reply", "one")
    taken = world.deploy("--mode", "lying", take=True)

    assert taken.exit_code in (3, 4)  # 4: its own battery may not pass, and that is told
    assert (world.door.units / "small.service").read_text() == own


def test_who_changed_the_unit_meanwhile_is_not_written_over(world: World) -> None:
    world.deploy("--reply", "one")
    unit = world.door.units / "small.service"

    def meddle(event: Event) -> None:
        if event.kind == "finished" and event.step == "02-retire":
            unit.write_text(unit.read_text() + "# meddled\nNice=5\n")

    world.follow = meddle
    failed = world.deploy("--reply", "two")

    assert failed.exit_code == 4
    assert "Nice=5" in unit.read_text()


@pytest.mark.parametrize("good", [True, False], ids=["good", "bad"])
def test_whenever_it_is_killed_resume_ends_what_it_began(world: World, good: bool) -> None:
    world.deploy("--reply", "0")
    serving = "0"
    for number in itertools.count(1):
        new = f"n{number}"
        args = ("--reply", new) if good else ("--reply", new, "--mode", "lying")
        world.dies_after(number)
        try:
            world.deploy(*args)
        except Died:
            pass
        else:
            break
        finally:
            world.lives()
        done = _resumed(world)
        assert done is None or done.exit_code == (0 if good else 3), (number, done)
        serving = world.serving()
        assert serving == (new if good else "0"), number
    assert number > 8


def test_a_link_that_is_cut_owes_the_way_back_and_resume_pays(world: World) -> None:
    world.deploy("--reply", "one")

    def cut(event: Event) -> None:
        world.door.cut |= event.kind == "finished" and event.step == "02-retire"

    world.follow = cut
    broken = world.deploy("--reply", "two")
    world.lives()
    world.door.cut = False
    assert broken.exit_code == 4
    assert broken.left == ("meshctl resume small",)

    done = verbs.resume(world.ground())

    assert (done.exit_code, done.restored, world.serving()) == (3, True, "one")


def test_nothing_is_written_once_the_lock_is_lost(world: World) -> None:
    world.deploy("--reply", "one")
    target = world.ground().target
    seen = target.look("small")
    assert seen is not None and seen.main is not None
    from meshctl.plan.release import Release
    from meshctl.plan.steps import StopRevision

    def lost() -> None:
        raise LockHeld("somebody took over")

    release = Release(id=seen.main.release, template=seen.main.template)
    act = StopRevision(release=release, revision=seen.main.name, by="small-r1-x")
    with pytest.raises(LockHeld):
        target.perform("small", act, "run", lost)

    assert world.serving() == "one"


def _resumed(world: World) -> Outcome | None:
    """None where the run had ended already, or was never opened."""
    try:
        return verbs.resume(world.ground())
    except Refused as no:
        assert "no unfinished run" in no.message
        return None


def _systemctl(*words: str) -> Any:
    from meshctl.outside.ssh import Command

    return Command(("systemctl", "--user", *words))
