"""An operator frees the card by hand: what nobody needs goes, and what somebody needs stays."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.contract.mesh.card import engines_of, is_free, on_card
from tests.contract.mesh.engines import PREFILLING, odd
from tests.contract.mesh.listening import Listener, words
from tests.contract.mesh.mesh_processes import Launcher, Mesh, scripted, wait_until


@pytest.fixture
def card(tmp_path: Path) -> Path:
    return tmp_path / "card"


def unload(mesh: Mesh, body: Any = None) -> requests.Response:
    """POST /unload with this body; None is an empty one."""
    data = b"" if body is None else json.dumps(body).encode()
    return mesh.http.post(mesh.url + "/unload", data=data, timeout=30)


def running(mesh: Mesh) -> list[str]:
    return [row["model"] for row in mesh.get("/running").json()["running"]]


def test_what_is_said_to_be_unloaded_has_left_the_card(launch: Launcher, card: Path) -> None:
    mesh = launch([on_card(card, "a", habit="worker", aliases=["first"], default=True)],
                  MESH_MIN_RESIDENCY="1h")  # fmt: skip

    answer = unload(mesh, {"model": "first"})
    free, left = is_free(card), running(mesh)
    again = unload(mesh, {"model": "a"})

    assert (answer.status_code, answer.json()) == (200, {"unloaded": ["a"], "kept": []})
    assert free and left == [] and mesh.engines() == []
    assert again.json() == {"unloaded": [], "kept": [{"model": "a", "why": "not_loaded"}]}
    assert mesh.get("/ready").status_code == 200
    assert mesh.chat(model="a", max_tokens=1).status_code == 200
    assert running(mesh) == ["a"]


def test_a_model_that_serves_is_409_and_its_answer_is_whole(
    launch: Launcher, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    mesh = launch([odd("a", PREFILLING, gate, default=True)])
    served = Listener(mesh, "a")
    served.until(b"accepted; queued position 0")

    named, all_of_them = unload(mesh, {"model": "a"}), unload(mesh)
    gate.touch()
    whole = words(served.all())

    assert named.status_code == 409
    assert named.json()["error"]["code"] == "model_busy"
    assert int(named.headers["Retry-After"]) >= 1
    assert all_of_them.json() == {"unloaded": [], "kept": [{"model": "a", "why": "serving"}]}
    assert (served.ended, whole) == ("clean", "word two")
    wait_until(lambda: unload(mesh, {"model": "a"}).status_code == 200)
    assert running(mesh) == []


def test_all_that_may_go_goes_and_a_pinned_model_stays(launch: Launcher) -> None:
    mesh = launch([
        scripted("a", default=True, sets=["s"]), scripted("b", sets=["s"]),
        scripted("c", group="cpu"), scripted("p", pinned=True),
    ])  # fmt: skip
    wait_until(lambda: "p" in running(mesh))
    for model in ("b", "c"):
        assert mesh.chat(model=model, max_tokens=1).status_code == 200
    pinned = engines_of(mesh, "p")

    answer = unload(mesh, {})

    assert answer.json()["unloaded"] == ["a", "b", "c"]
    assert answer.json()["kept"] == [{"model": "p", "why": "pinned"}]
    assert mesh.engines() == pinned
    assert unload(mesh, {"model": "p"}).json()["error"]["code"] == "model_pinned"


def test_an_engine_that_comes_back_from_a_crash_is_told_to_stay_away(launch: Launcher) -> None:
    mesh = launch([scripted("a", "--load", "0.5", default=True)])
    [first] = mesh.engines()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: mesh.engines() not in ([], [first]))

    answer = unload(mesh, {"model": "a"})

    assert answer.json()["unloaded"] == ["a"]
    assert mesh.engines() == []
    assert mesh.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "nobody"}, 404, "model_not_found"),
        ({"models": ["a"]}, 400, "invalid_request"),
        ([], 400, "invalid_request"),
    ],
)
def test_what_cannot_be_meant_unloads_nothing(
    shared: Mesh, body: Any, status: int, code: str
) -> None:
    answer = unload(shared, body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert running(shared) == ["a"]


@pytest.fixture(scope="module")
def shared(launch: Launcher) -> Mesh:
    return launch([scripted("a")])


@pytest.mark.parametrize(
    "said",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
    ],
)
def test_without_keys_a_web_page_orders_nothing_on_the_meshs_own_machine(
    launch: Launcher, said: dict[str, str]
) -> None:
    mesh = launch([scripted("a")])

    answers = [
        mesh.http.post(mesh.url + "/unload", headers=said, timeout=30),
        mesh.http.get(mesh.url + "/logs", headers=said, timeout=30),
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert running(mesh) == ["a"]
    assert mesh.http.get(mesh.url + "/logs", headers={"Host": "localhost:1"}).status_code == 200
