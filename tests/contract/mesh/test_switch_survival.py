"""A switch whose mesh or whose caller is gone half-way leaves one backend active, and says so."""

from __future__ import annotations

import random
import signal
import socket
import time
from pathlib import Path

from meshctl.spec.switch import Outcome
from tests.contract.mesh.listening import Listener
from tests.contract.mesh.mesh_processes import (
    Launcher,
    environment,
    fails_with,
    free_front_port,
    wait_until,
)
from tests.contract.mesh.switch_fronts import MODEL, Fronted, Ordered, engine, order, says

KILLS = 4
PORT = free_front_port()


def killed(front: Fronted) -> None:
    front.mesh.send(signal.SIGKILL)
    front.again()


def nothing_done(front: Fronted, to: str) -> Outcome:
    """What is known of an order that did not arrive: it changed nothing."""
    old = "b" if to == "a" else "a"
    return Outcome(operation="-", to=to, outcome="refused", active=old, was=old)


def consistent(front: Fronted, outcome: Outcome) -> bool:
    """One is active, it is the one that answers, and the outcome says nothing else."""
    active = front.ask.state().active
    assert active is not None
    told = outcome.active == active and (outcome.outcome != "switched" or active == outcome.to)
    return told and front.answers() == (200, says(active))


def test_a_mesh_killed_during_the_check_serves_the_old_one(
    launch: Launcher, tmp_path: Path
) -> None:
    with engine("a") as a, engine("b", "--load", "600") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b)
        ordered = Ordered(front, order("s", "b", check_at_most=60))
        wait_until(lambda: front.ask.state().operation == "s")

        killed(front)
        outcome = ordered.ended()

        assert (outcome.outcome, outcome.active) == ("unknown", "a")
        assert "it knows nothing of operation s now" in outcome.why
        assert consistent(front, outcome)


def test_a_mesh_killed_after_the_choice_serves_the_new_one(
    launch: Launcher, tmp_path: Path
) -> None:
    with engine("a", "--mode", "slow", "--delay", "60") as a, engine("b") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b)
        Listener(front.mesh, MODEL).until(b": accepted")
        ordered = Ordered(front, order("s", "b", drain_at_most=60))
        wait_until(lambda: front.ask.state().active == "b")

        killed(front)
        outcome = ordered.ended()

        assert (outcome.outcome, outcome.active) == ("switched", "b")
        assert outcome.steps[-1].why == "the mesh ended before it was seen"
        assert consistent(front, outcome)
        assert front.switch("s", "b") == outcome, "the same operation is not done again"


def test_a_mesh_killed_at_any_moment_has_one_consistent_active_backend(
    launch: Launcher, tmp_path: Path
) -> None:
    rng = random.Random(4)
    with engine("a") as a, engine("b") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b)
        broken = []
        for number in range(KILLS):
            to = "b" if front.ask.state().active == "a" else "a"
            ordered = Ordered(front, order(f"s-{number}", to))
            time.sleep(rng.uniform(0, 0.02))  # any moment will do: this is no wait for anything
            killed(front)
            outcome = ordered.ended_or_never_came() or nothing_done(front, to)
            if not consistent(front, outcome):
                broken.append((outcome, front.ask.state()))

    assert broken == []


def test_a_caller_that_hangs_up_stops_nothing(launch: Launcher, tmp_path: Path) -> None:
    with engine("a") as a:
        front = Fronted(launch, tmp_path)
        front.serve(a)
        late = a.backend().model_copy(update={"name": "b", "url": f"http://127.0.0.1:{PORT}"})
        front.ask.add(late)
        body = order("s", "b").model_dump_json().encode()
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(front.socket))
            head = f"POST /switch HTTP/1.1\r\nHost: m\r\nContent-Length: {len(body)}\r\n\r\n"
            caller.sendall(head.encode() + body)
            wait_until(lambda: front.ask.state().operation == "s")
        with engine("b", port=PORT):
            wait_until(lambda: front.ask.state().operation is None, 30)

            assert front.switch("s", "b").outcome == "switched"
            assert front.answers() == (200, says("b"))


def test_what_was_known_is_known_after_a_restart(launch: Launcher, tmp_path: Path) -> None:
    with engine("a") as a, engine("b") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b)
        before = front.ask.state()

        assert front.mesh.send(signal.SIGTERM) == 0
        assert not front.socket.exists()
        front.again()

        assert front.ask.state() == before
        assert front.answers() == (200, says("a"))


def test_a_damaged_file_is_refused_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "switch.json"
    file.write_text('{"version": 1, "active": nope')
    places = {"MESH_ADMIN_SOCKET": str(tmp_path / "s"), "MESH_SWITCH_FILE": str(file)}

    code, log = fails_with(tmp_path / "log", environment([], **places))

    assert code == 64
    assert f"{file}: Invalid JSON: expected ident at line 1 column 27" in log
    assert "move it away to begin with no backend" in log
    assert file.read_text() == '{"version": 1, "active": nope'


def test_a_file_has_one_mesh(launch: Launcher, tmp_path: Path) -> None:
    front = Fronted(launch, tmp_path)
    places = {"MESH_ADMIN_SOCKET": str(tmp_path / "s"), "MESH_SWITCH_FILE": str(front.file)}

    code, log = fails_with(tmp_path / "log", environment([], **places))

    assert code == 64
    assert f"{front.file}: another mesh uses it" in log
