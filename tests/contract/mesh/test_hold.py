"""A client that must wait for a stream is told so at once, and is never fooled about its end."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.contract.mesh.engines import GUSHING, HALF, PREFILLING, REFUSING, odd
from tests.contract.mesh.listening import (
    Listener,
    blocks,
    comments,
    error_of,
    events,
    raw,
    until,
    words,
)
from tests.contract.mesh.mesh_processes import CHAT, Launcher, scripted, wait_until

ACCEPTED = ": accepted; queued position 0"
QUICK = {"MESH_KEEPALIVE": "200ms"}


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file that the engines of a test wait for."""
    return tmp_path / "gate"


def test_a_client_that_waits_for_a_load_hears_so_from_the_first_moment(launch: Launcher) -> None:
    mesh = launch([scripted("near", default=True), scripted("far", "--load", "1.5")], **QUICK)

    listener = Listener(mesh, "far", max_tokens=3)
    before = listener.until(b": keep-alive")

    assert comments(before)[0] == ACCEPTED and events(before) == []
    assert listener.headers["Content-Type"] == "text/event-stream"
    assert listener.headers["x-mesh-model"] == "far"
    data = listener.all()
    assert words(data) == "The quick brown"
    assert blocks(data)[-1] == "data: [DONE]" and listener.ended == "clean"


def test_signs_of_life_go_on_through_the_prefill_and_end_with_the_first_word(
    launch: Launcher, gate: Path
) -> None:
    mesh = launch([odd("m", PREFILLING, gate)], **QUICK)

    listener = Listener(mesh, "m")
    wait_until(lambda: listener.data.count(b": keep-alive") >= 3, 20)
    gate.touch()
    data = listener.all()

    shown = blocks(data)
    assert shown[0] == ACCEPTED
    assert not any(block.startswith(":") for block in shown[shown.index(first_word(data)) :])
    assert set(comments(data)) == {ACCEPTED, ": keep-alive"}
    assert words(data) == "word two" and shown[-1] == "data: [DONE]"


def first_word(data: bytes) -> str:
    return next(block for block in blocks(data) if '"word"' in block)


def test_a_model_can_be_set_to_send_chunks_and_all_of_them_have_one_id(
    launch: Launcher, gate: Path
) -> None:
    mesh = launch([odd("m", PREFILLING, gate, keepalive="chunk")], **QUICK)

    listener = Listener(mesh, "m")
    wait_until(lambda: listener.data.count(b'"delta":{}') >= 3, 20)
    gate.touch()
    data = listener.all()

    assert comments(data) == []
    assert len({(event["id"], event["model"], event["created"]) for event in events(data)}) == 1
    assert words(data) == "word two" and blocks(data)[-1] == "data: [DONE]"


def test_a_model_can_be_set_to_send_nothing_before_its_answer(launch: Launcher, gate: Path) -> None:
    mesh = launch([odd("m", PREFILLING, gate, keepalive="off")], **QUICK)

    listener = Listener(mesh, "m")
    listener.until(b"assistant")
    gate.touch()

    assert comments(listener.all()) == []
    assert words(listener.data) == "word two"


def test_what_is_refused_at_once_is_refused_by_status(launch: Launcher) -> None:
    mesh = launch([odd("m", REFUSING)], MESH_KEEPALIVE_GRACE="20s")

    answer = mesh.chat(stream=True)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "too long"


def test_what_is_refused_after_the_wait_began_is_an_error_event(
    launch: Launcher, gate: Path
) -> None:
    mesh = launch([odd("m", REFUSING, gate)], **QUICK)
    listener = Listener(mesh, "m")
    listener.until(b": keep-alive")

    gate.touch()
    data = listener.all()

    assert error_of(data) == {"message": "too long", "code": 400, "type": "bad"}
    assert listener.ended == "cut"


def test_a_prompt_that_cannot_fit_is_refused_before_anybody_waits(launch: Launcher) -> None:
    model = scripted("m", context=10)
    mesh = launch([model])

    answer = mesh.chat(stream=True, messages=[{"role": "user", "content": "x" * 128 * 11}])

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"
    assert mesh.chat(messages=[{"role": "user", "content": "x" * 128 * 10}]).status_code == 200


def test_half_an_event_is_not_shown_and_its_stream_ends_with_an_error(launch: Launcher) -> None:
    mesh = launch([odd("m", HALF)])

    listener = Listener(mesh, "m")
    data = listener.all()

    assert words(data) == "word" and b"lost" not in data
    assert error_of(data)["code"] == "upstream_cut"
    assert listener.ended == "cut"
    assert "mesh_upstream_truncations_total 1" in mesh.get("/metrics").text


def test_the_second_of_two_streams_waits_for_the_first_and_both_come_whole(
    launch: Launcher, gate: Path
) -> None:
    mesh = launch([odd("m", PREFILLING, gate)], **QUICK)
    first = Listener(mesh, "m")
    first.until(b"assistant")

    second = Listener(mesh, "m")
    second.until(b": keep-alive")
    third = Listener(mesh, "m")
    third.until(b": keep-alive")
    during = (second.data, third.data)
    gate.touch()

    assert comments(first.all())[0] == ACCEPTED
    assert [comments(data)[0][-1] for data in during] == ["1", "2"]
    assert [events(data) for data in during] == [[], []]
    for listener in (first, second, third):
        assert words(listener.all()) == "word two"
        assert blocks(listener.data)[-1] == "data: [DONE]" and listener.ended == "clean"
    assert ": queued position 1" in comments(third.data)


def test_a_slow_reader_does_not_keep_an_engine_from_the_next_client(launch: Launcher) -> None:
    mesh = launch([odd("m", GUSHING)])
    slow = raw(mesh, "m", max_tokens=6000)
    wait_until(lambda: slow.recv(1), 20)

    answers = [mesh.chat(model="m", stream=True, max_tokens=1).content for _ in range(2)]

    assert all(answer.endswith(b"data: [DONE]\n\n") for answer in answers)
    rest = until(slow, b"\r\n0\r\n\r\n")
    assert b"data: [DONE]" in rest[-200:], "the slow one got everything, too"
    slow.close()


def test_a_half_closed_socket_frees_the_engine(launch: Launcher, tmp_path: Path) -> None:
    record = tmp_path / "record"
    engine = scripted("m", "--mode", "slow", "--delay", "0.2", "--record", str(record))
    mesh = launch([engine])
    client = raw(mesh, "m")
    wait_until(lambda: record.exists(), 20)

    client.shutdown(socket.SHUT_WR)

    wait_until(lambda: f'"gone": "{CHAT}"' in record.read_text(), 20)
    client.close()


def test_a_request_that_is_no_stream_gets_no_early_byte(launch: Launcher) -> None:
    mesh = launch([scripted("near", default=True), scripted("far", "--load", "1")], **QUICK)

    answer = mesh.chat(model="far", max_tokens=2)

    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json()["choices"][0]["message"]["content"] == "The quick"


def test_the_page_of_metrics_tells_what_was_held(launch: Launcher) -> None:
    mesh = launch([scripted("near", default=True), scripted("far", "--load", "1")], **QUICK)
    before = mesh.get("/running").json()
    listener = Listener(mesh, "far")
    listener.until(b": keep-alive")

    during = mesh.get("/metrics").text
    listener.all()

    assert before == {"running": [{"model": "near", "state": "ready"}], "failed": []}
    assert mesh.get("/running").json()["running"] == [{"model": "far", "state": "ready"}]

    assert "mesh_held_requests 1" in during and "mesh_queue_depth 1" in during
    after = mesh.get("/metrics").text
    assert "mesh_held_requests 0" in after and "mesh_queue_depth 0" in after
    assert 'mesh_requests_total{model="far",outcome="answered"} 1' in after
    assert "mesh_queue_wait_seconds_count 1" in after
    assert "mesh_time_to_first_token_seconds_count 1" in after
    assert "mesh_keepalives_sent_total 0" not in after


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed on this machine")
def test_curl_shows_the_wait_and_the_answer(launch: Launcher) -> None:
    mesh = launch([scripted("near", default=True), scripted("far", "--load", "1")], **QUICK)
    body = '{"model": "far", "stream": true, "max_tokens": 2, "messages": []}'

    command = ["curl", "-sN", "--noproxy", "*", mesh.url + CHAT, "-d", body]
    done = subprocess.run(command, capture_output=True, timeout=30, check=True)

    assert comments(done.stdout)[:2] == [ACCEPTED, ": keep-alive"]
    assert words(done.stdout) == "The quick"
