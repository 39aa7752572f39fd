"""An engine that is lost before it answers costs the client only time, as long as that is safe."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import requests

from tests.contract.mesh.engines import FRAGILE, odd
from tests.contract.mesh.listening import Listener, comments, error_of, events, words
from tests.contract.mesh.mesh_processes import Launcher, scripted, wait_until

MANY = {"MESH_PROXY_CONNECT_RETRIES": "100", "MESH_PROXY_CONNECT_BACKOFF_MS": "100"}


def test_an_answer_survives_the_death_of_its_engine(launch: Launcher, tmp_path: Path) -> None:
    mesh = launch([odd("m", FRAGILE, tmp_path / "lives", 1)], **MANY)

    answer = mesh.chat()

    assert answer.json()["choices"][0]["message"]["content"] == "alive"
    assert (tmp_path / "lives").read_text() == "xx", "asked twice, answered once"


def test_a_stream_survives_the_death_of_its_engine(launch: Launcher, tmp_path: Path) -> None:
    mesh = launch([odd("m", FRAGILE, tmp_path / "lives", 1)], MESH_KEEPALIVE="200ms", **MANY)

    listener = Listener(mesh, "m")
    data = listener.all()

    assert words(data) == "alive" and listener.ended == "clean"
    assert comments(data)[0] == ": accepted; queued position 0"


def test_a_request_that_kills_every_engine_is_given_up(launch: Launcher, tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    mesh = launch([odd("m", FRAGILE, lives, 99)], **MANY)

    answer = mesh.chat()

    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "engine_lost"
    assert "the engine of m exited with code 1" in answer.json()["error"]["message"]
    assert lives.read_text() == "xxx"


def test_after_the_flush_a_lost_engine_is_an_error_event(launch: Launcher, tmp_path: Path) -> None:
    mesh = launch([odd("m", FRAGILE, tmp_path / "lives", 99)], **MANY)

    listener = Listener(mesh, "m")
    data = listener.all()

    assert (listener.status, listener.ended) == (200, "cut")
    assert error_of(data)["code"] == "engine_lost" and len(events(data)) == 1


def test_without_retries_a_lost_engine_is_a_502(launch: Launcher, tmp_path: Path) -> None:
    never = {"MESH_PROXY_CONNECT_RETRIES": "0", "MESH_KEEPALIVE_GRACE": "20s"}
    mesh = launch([odd("m", FRAGILE, tmp_path / "lives", 1)], **never)

    answer = mesh.chat(stream=True)

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "engine_lost")


def test_a_reload_under_load_loses_no_request_that_has_no_byte_yet(
    launch: Launcher, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    engine = scripted("m", "--mode", "slow", "--delay", "0.3", "--record", str(record), parallel=4)
    mesh = launch([engine], **MANY)
    answers: list[requests.Response] = []

    def ask() -> None:
        with requests.Session() as http:
            http.trust_env = False
            body = {"model": "m", "messages": [], "max_tokens": 3}
            answers.append(http.post(mesh.url + "/v1/chat/completions", json=body, timeout=60))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: record.exists() and record.read_text().count('"path"') == 4)
    (killed,) = mesh.engines()
    os.kill(killed, signal.SIGKILL)
    for thread in threads:
        thread.join()

    texts = [answer.json()["choices"][0]["message"]["content"] for answer in answers]
    assert texts == ["The quick brown"] * 4
    assert "the engine of m was killed by signal 9" in mesh.log()
    assert "mesh_retries_total 0" not in mesh.get("/metrics").text
