"""A front on a host exchanges its backends, and its clients see a pause and no error."""

from __future__ import annotations

import threading
from pathlib import Path

import openai
import pytest
import requests

from meshctl.errors import Refused
from tests.contract.mesh.listening import Listener, comments, error_of, words
from tests.contract.mesh.mesh_processes import (
    Launcher,
    Mesh,
    free_front_port,
    scripted,
    wait_until,
)
from tests.contract.mesh.switch_fronts import (
    MANY,
    MODEL,
    Fronted,
    Ordered,
    engine,
    gated,
    order,
    says,
)

SLOW = ("--mode", "slow", "--delay", "0.01")
SWITCHES = 50


class Clients:
    """Clients that never stop asking until they are told to; what they got, and what went wrong."""

    def __init__(self, mesh: Mesh, count: int) -> None:
        self.texts: list[str] = []
        self.errors: list[str] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(mesh,)) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _ask(self, mesh: Mesh) -> None:
        with openai.OpenAI(base_url=mesh.url + "/v1", api_key="none", max_retries=0) as client:
            while not self._over.is_set():
                try:
                    self.texts.append(_said(client))
                except openai.OpenAIError as error:
                    self.errors.append(repr(error))

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def _said(client: openai.OpenAI) -> str:
    messages = [{"role": "user", "content": "Who?"}]
    chunks = client.chat.completions.create(model=MODEL, messages=messages, stream=True)  # type: ignore[call-overload]
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def test_no_client_sees_any_of_fifty_switches(launch: Launcher, tmp_path: Path) -> None:
    with engine("a", *SLOW) as a, engine("b", *SLOW) as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b)
        clients = Clients(front.mesh, 4)
        wrong = []
        try:
            wait_until(lambda: clients.texts)
            for number in range(SWITCHES):
                to = "ba"[number % 2]
                outcome = front.switch(f"s-{number}", to)
                seen = (outcome.outcome, outcome.active, outcome.in_flight, *front.answers())
                if seen != ("switched", to, 0, 200, says(to)):
                    wrong.append((number, seen, outcome))
        finally:
            clients.stop()

    assert wrong == []
    assert clients.errors == []
    assert set(clients.texts) == {says("a"), says("b")}


def test_a_backend_that_is_not_ready_never_serves(launch: Launcher, tmp_path: Path) -> None:
    with engine("a") as a, engine("b", "--load", "600") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b)

        outcome = front.switch("s", "b", check_at_most=0.5)

        assert (outcome.outcome, outcome.active) == ("refused", "a")
        assert outcome.why == "b is not ready: /health said 503"
        assert [(step.name, step.result) for step in outcome.steps] == [("check", "failed")]
        assert front.answers() == (200, says("a"))
        assert front.ask.check("b").why == "/health said 503"


def test_one_that_is_taken_unasked_serves_without_a_check(launch: Launcher, tmp_path: Path) -> None:
    with engine("a") as a, engine("b") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a)
        front.ask.add(b.backend(ready="/nothing-is-here"))

        outcome = front.switch("s", "b", check=False)

        assert outcome.outcome == "switched" and outcome.steps[0].result == "skipped"
        assert front.answers() == (200, says("b"))


def test_what_still_runs_on_the_old_one_is_counted_and_not_cut(
    launch: Launcher, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    with gated("a", gate) as a, engine("b") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b, check=False)
        listener = Listener(front.mesh, MODEL)
        wait_until(lambda: front.ask.state().backends[0].in_flight == 1)

        outcome = front.switch("s", "b", drain_at_most=0.1)

        assert (outcome.outcome, outcome.in_flight) == ("switched", 1)
        assert (outcome.steps[-1].result, outcome.steps[-1].why) == (
            "unfinished",
            "a still answers 1",
        )
        assert front.answers() == (200, says("b"))
        with pytest.raises(Refused, match="a serves"):
            front.ask.remove("a")
        gate.touch()
        assert words(listener.all()) == "word two" and listener.ended == "clean"
        assert front.ask.drain("a", 60).drained
        assert [s.backend.name for s in front.ask.remove("a").backends] == ["b"]


def test_a_paused_client_hears_that_it_waits_and_then_its_answer(
    launch: Launcher, tmp_path: Path
) -> None:
    with engine("a") as a:
        front = Fronted(launch, tmp_path, MESH_KEEPALIVE="100ms")
        front.serve(a)
        front.ask.pause(60)
        listener = Listener(front.mesh, MODEL)
        listener.until(b": keep-alive")

        assert front.ask.state().held == 1
        front.ask.resume()
        data = listener.all()

    assert comments(data)[0] == ": accepted; queued position 0"
    assert words(data) == says("a") and listener.ended == "clean"


def test_a_pause_that_lasts_too_long_ends_with_a_reason_and_the_old_one(
    launch: Launcher, tmp_path: Path
) -> None:
    with engine("a") as a:
        front = Fronted(launch, tmp_path)
        front.serve(a)
        front.ask.pause(60)
        listener = Listener(front.mesh, MODEL)
        wholes: list[tuple[int, str]] = []
        whole = threading.Thread(target=lambda: wholes.append(front.answers()))
        whole.start()
        listener.until(b": accepted")
        wait_until(lambda: front.ask.state().held == 2)

        front.ask.pause(0.1)
        whole.join()

        assert wholes == [(503, "held_too_long")]
        assert error_of(listener.all())["code"] == "held_too_long"
        assert front.answers() == (200, says("a"))


def test_requests_held_by_a_switch_go_on_when_it_takes_too_long(
    launch: Launcher, tmp_path: Path
) -> None:
    with engine("a") as a, engine("b", "--load", "600") as b:
        front = Fronted(launch, tmp_path)
        front.serve(a, b)
        front.ask.pause(60)
        listener = Listener(front.mesh, MODEL)
        listener.until(b": accepted")

        outcome = front.switch("s", "b", check_at_most=60, hold_at_most=0.5)

        assert (outcome.outcome, outcome.active, outcome.let_down) == ("restored", "a", 1)
        assert error_of(listener.all())["code"] == "held_too_long"
        assert front.answers() == (200, says("a"))


def test_the_place_of_an_engine_is_taken_while_its_clients_wait(
    launch: Launcher, tmp_path: Path
) -> None:
    with engine("a", *SLOW) as a:
        front = Fronted(launch, tmp_path)
        front.serve(a)
        front.ask.pause(60)
        listener = Listener(front.mesh, MODEL)
        listener.until(b": accepted")
        assert front.ask.drain(None, 20).drained
    with engine("b", "--load", "0.5", port=a.port) as b:
        front.ask.add(b.backend())

        outcome = front.switch("s", "b")

        assert (outcome.outcome, outcome.was, outcome.held) == ("switched", "a", 1)
        assert words(listener.all()) == says("b") and listener.ended == "clean"


def test_a_backend_that_dies_is_waited_for(launch: Launcher, tmp_path: Path) -> None:
    front = Fronted(launch, tmp_path, **MANY)
    with engine("a") as a:
        front.serve(a)
    listener = Listener(front.mesh, MODEL)
    listener.until(b": accepted")
    with engine("a", "--load", "0.5", port=a.port):
        data = listener.all()

    assert words(data) == says("a") and listener.ended == "clean"


def test_who_waits_for_a_dead_backend_is_answered_by_the_next_one(
    launch: Launcher, tmp_path: Path
) -> None:
    front = Fronted(launch, tmp_path, **MANY)
    with engine("b") as b:
        with engine("a") as a:
            front.serve(a, b)
        listener = Listener(front.mesh, MODEL)
        listener.until(b": accepted")

        assert front.switch("s", "b").outcome == "switched"

        assert words(listener.all()) == says("b") and listener.ended == "clean"


def test_a_second_switch_is_refused_and_the_same_one_is_the_same(
    launch: Launcher, tmp_path: Path
) -> None:
    port = free_front_port()
    with engine("a") as a:
        front = Fronted(launch, tmp_path)
        front.serve(a)
        late = a.backend().model_copy(update={"name": "b", "url": f"http://127.0.0.1:{port}"})
        front.ask.add(late)
        first = Ordered(front, order("one", "b"))
        wait_until(lambda: front.ask.state().operation == "one")

        with pytest.raises(Refused, match="switch one to b is under way"):
            front.switch("two", "a")
        with pytest.raises(Refused, match="one was another order"):
            front.switch("one", "a")
        again = Ordered(front, order("one", "b"))
        with engine("b", port=port):
            assert first.ended() == again.ended()

        assert first.ended().outcome == "switched"
        assert front.switch("one", "b").steps == first.ended().steps, "asked again, done once"


def test_a_front_without_a_backend_says_so(launch: Launcher, tmp_path: Path) -> None:
    with engine("a") as a:
        front = Fronted(launch, tmp_path)
        before = front.mesh.get("/ready").status_code, front.mesh.chat(model=MODEL).status_code
        front.ask.add(a.backend())
        known = front.mesh.chat(model=MODEL)
        front.serve(a)

        listed = front.mesh.get("/v1/models").json()["data"]
        unnamed = front.mesh.chat()

    assert before == (503, 404)
    assert (known.status_code, known.json()["error"]["code"]) == (503, "no_backend")
    assert front.mesh.get("/ready").json() == {"status": "ready", "model": MODEL}
    assert [(card["id"], card["owned_by"]) for card in listed] == [(MODEL, "backend:a")]
    assert (unnamed.status_code, unnamed.headers["x-mesh-backend"]) == (200, "a")


def test_a_model_of_its_own_is_answered_by_no_backend(launch: Launcher, tmp_path: Path) -> None:
    with engine("a") as a:
        front = Fronted(launch, tmp_path, scripted("own"))
        front.ask.add(a.backend().model_copy(update={"models": (MODEL, "own")}))
        assert front.switch("s", "a").outcome == "switched"

        own, behind = front.mesh.chat(model="own"), front.mesh.chat(model=MODEL)
        listed = front.mesh.get("/v1/models").json()["data"]

    assert ("x-mesh-backend" in own.headers, own.status_code) == (False, 200)
    assert behind.headers["x-mesh-backend"] == "a"
    assert front.mesh.get("/ready").json()["model"] == "own"
    assert [(c["id"], c["owned_by"]) for c in listed] == [("own", "meshctl"), (MODEL, "backend:a")]


def test_a_front_that_asks_itself_is_stopped(launch: Launcher, tmp_path: Path) -> None:
    with engine("a") as a:
        front = Fronted(launch, tmp_path)
        itself = a.backend().model_copy(update={"name": "itself", "url": front.mesh.url})
        front.ask.add(itself)

        assert front.switch("s", "itself").outcome == "switched"
        answer = requests.post(
            f"{front.mesh.url}/v1/chat/completions",
            json={"model": MODEL, "messages": []},
            timeout=30,
            proxies={"http": ""},
        )

    assert (answer.status_code, answer.json()["error"]["code"]) == (508, "forwarding_loop")
