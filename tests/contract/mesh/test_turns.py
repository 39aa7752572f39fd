"""Models take turns on one card: nobody is answered by the wrong one, forgotten, or left behind."""

from __future__ import annotations

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contract.mesh.card import TAKEN, engines_of, is_free, on_card
from tests.contract.mesh.engines import PREFILLING, odd
from tests.contract.mesh.listening import Listener, raw, until, words
from tests.contract.mesh.mesh_processes import Launcher, Mesh, scripted, wait_until


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """A card of this test's own."""
    return tmp_path / "card"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file that engines wait for before their first word."""
    return tmp_path / "gate"


def said(mesh: Mesh, model: str) -> str:
    """What the model answers to a request that is no stream."""
    answer = mesh.chat(model=model)
    assert answer.status_code == 200, (answer.status_code, answer.text)
    assert answer.headers["x-mesh-model"] == model
    return str(answer.json()["choices"][0]["message"]["content"])


def test_two_models_alternate_on_a_card_that_holds_one(launch: Launcher, card: Path) -> None:
    workers = on_card(card, "a", habit="deserter", default=True), on_card(card, "b", habit="worker")
    mesh = launch([*workers])

    answers = [said(mesh, model) for model in "babab"]

    assert answers == [f"I am {model}" for model in "babab"]
    assert TAKEN not in mesh.log()
    assert len(mesh.engines()) == 1


def test_a_mesh_is_ready_while_another_model_has_the_card(launch: Launcher, card: Path) -> None:
    mesh = launch([on_card(card, "a", default=True), on_card(card, "b")])

    said(mesh, "b")

    assert engines_of(mesh, "a") == []
    assert mesh.get("/ready").json() == {"status": "ready", "model": "a"}


def test_many_clients_at_once_are_each_answered_by_the_model_they_asked_for(
    launch: Launcher, card: Path
) -> None:
    mesh = launch([on_card(card, model, default=model == "a") for model in "abc"])
    asked = random.Random(7).choices("abc", k=60)

    with ThreadPoolExecutor(12) as clients:
        answers = list(clients.map(lambda model: said(mesh, model), asked))

    assert answers == [f"I am {model}" for model in asked]
    assert TAKEN not in mesh.log()


def test_a_request_for_another_model_waits_until_the_answer_is_whole(
    launch: Launcher, gate: Path
) -> None:
    mesh = launch([odd("a", PREFILLING, gate, default=True), scripted("b")])
    first = Listener(mesh, "a")
    first.until(b"accepted; queued position 0")

    second = Listener(mesh, "b")
    second.until(b": accepted; queued position 1")
    before = (first.ended, words(second.data))
    gate.touch()
    second.until(b"data: ")

    assert before == ("", "")
    assert first.ended == "clean" and words(first.data) == "word two"
    assert words(second.all()).startswith("The quick")


def test_a_full_queue_is_503_and_says_when_to_ask_again(launch: Launcher, gate: Path) -> None:
    mesh = launch([odd("a", PREFILLING, gate)], MESH_QUEUE="1")
    served, waits = Listener(mesh, "a"), None
    served.until(b"accepted; queued position 0")
    waits = Listener(mesh, "a")
    waits.until(b"accepted; queued position 1")

    answer = mesh.chat(model="a", stream=True)

    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.json()["error"]["message"] == "the queue for a is full"
    gate.touch()
    assert words(waits.all()) == "word two"


def test_clients_that_leave_free_the_turn_and_the_queue(launch: Launcher, gate: Path) -> None:
    mesh = launch([odd("a", PREFILLING, gate, default=True), scripted("b")], MESH_QUEUE="2")
    clients = [raw(mesh, "a") for _ in range(3)]
    for client in clients:
        until(client, b"accepted")
    assert mesh.chat(model="b").status_code == 503

    for client in clients:
        client.close()

    wait_until(lambda: mesh.chat(model="b", max_tokens=1).status_code == 200, 20)
    assert not gate.exists()


def test_a_model_nobody_asks_for_is_unloaded_and_loaded_again_when_asked(
    launch: Launcher, card: Path
) -> None:
    mesh = launch([on_card(card, "a", ttl="300ms")])

    wait_until(lambda: mesh.engines() == [])

    assert is_free(card)
    assert mesh.get("/ready").status_code == 200
    assert said(mesh, "a") == "I am a"


def test_a_pinned_model_stays_while_others_take_turns(launch: Launcher, card: Path) -> None:
    models = [on_card(card, "a", default=True), on_card(card, "b"), scripted("p", pinned=True)]
    mesh = launch(models)
    wait_until(lambda: "the engine of p is ready" in mesh.log())
    pinned = engines_of(mesh, "p")

    for model in ("b", "p", "a", "b"):
        mesh.chat(model=model, max_tokens=1)

    assert engines_of(mesh, "p") == pinned and len(pinned) == 1
    assert len(mesh.engines()) == 2


def test_models_of_one_set_and_of_other_groups_stay_together(launch: Launcher) -> None:
    mesh = launch(
        [
            scripted("a", default=True, sets=["small"]),
            scripted("b", sets=["small"]),
            scripted("c", group="cpu"),
            scripted("d"),
        ]
    )

    for model in ("a", "b", "c"):
        mesh.chat(model=model, max_tokens=1)
    together = [model for model in "abcd" if engines_of(mesh, model)]
    mesh.chat(model="d", max_tokens=1)

    assert together == ["a", "b", "c"]
    assert [model for model in "abcd" if engines_of(mesh, model)] == ["c", "d"]


def test_an_engine_that_will_not_stop_is_killed_after_its_grace(
    launch: Launcher, card: Path
) -> None:
    stubborn = on_card(card, "a", "--ignore-sigterm", stop_grace="200ms", default=True)
    mesh = launch([stubborn, on_card(card, "b")])

    assert said(mesh, "b") == "I am b"
    assert TAKEN not in mesh.log()


def test_who_waits_for_an_engine_that_is_killed_is_served_by_the_next(
    launch: Launcher, gate: Path
) -> None:
    mesh = launch([odd("a", PREFILLING, gate)])
    served = Listener(mesh, "a")
    served.until(b"accepted; queued position 0")
    waits = Listener(mesh, "a")
    waits.until(b"accepted; queued position 1")

    os.kill(mesh.engines()[0], signal.SIGKILL)
    gate.touch()

    assert words(waits.all()) == "word two"
    assert waits.ended == "clean"


def test_an_engine_that_is_killed_is_loaded_again_once_its_workers_are_gone(
    launch: Launcher, card: Path
) -> None:
    mesh = launch([on_card(card, "a", habit="deserter", default=True)])

    os.kill(engines_of(mesh, "a")[0], signal.SIGKILL)
    answer = said(mesh, "a")

    assert answer == "I am a"
    assert TAKEN not in mesh.log()


def test_nothing_is_left_of_a_mesh_that_ends_in_the_middle_of_a_swap(
    launch: Launcher, card: Path
) -> None:
    stubborn = on_card(card, "a", "--ignore-sigterm", habit="worker", stop_grace="1m", default=True)
    mesh = launch([stubborn, on_card(card, "b")])
    waits = Listener(mesh, "b")
    wait_until(lambda: "the engine of a is unloaded" in mesh.log())

    code = mesh.send(signal.SIGTERM)

    assert code == 0
    assert is_free(card) and mesh.engines() == []
    assert b"[DONE]" not in waits.all()
