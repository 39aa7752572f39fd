"""Half an answer never passes as a whole one, and who began to answer is not asked once more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.contract.mesh.engines import SAYING, odd
from tests.contract.mesh.listening import Listener, error_of, events
from tests.contract.mesh.mesh_processes import Launcher, Mesh, scripted, wait_until
from tests.contract.mesh.switch_fronts import MODEL, Fronted, saying

QUICK = {"MESH_PROXY_CONNECT_BACKOFF_MS": "50", "MESH_SILENCE": "1s"}
JSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAM = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n\r\n"
WHOLE = JSON + "Content-Length: 2\r\n\r\n{}"
WORD = 'data: {"choices": [{"index": 0, "delta": {"content": "word"}}]}\n\n'


def pieces(*texts: str) -> str:
    return "".join(f"{len(text):x}\r\n{text}\r\n" for text in texts)


@dataclass
class Asked:
    """A mesh, and how often the engine behind it has been asked."""

    mesh: Mesh
    record: Path

    def times(self) -> int:
        return self.record.stat().st_size if self.record.exists() else 0

    def says(self, say: str, **more: object) -> tuple[requests.Response, int]:
        """The client's answer where the engine says this; and how often it was asked."""
        before = self.times()
        answer = self.mesh.chat(model=MODEL, say=say, **more)
        return answer, self.times() - before


@pytest.fixture(scope="module")
def engine(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    record = tmp_path_factory.mktemp("engine") / "record"
    return Asked(launch([odd(MODEL, SAYING, record)], **QUICK), record)


@pytest.fixture(scope="module")
def backend(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("backend")
    with saying("b", folder / "record") as one:
        front = Fronted(launch, folder, **QUICK)
        front.serve(one, check=False)
        yield Asked(front.mesh, folder / "record")


@pytest.fixture(params=["engine", "backend"])
def asked(request: pytest.FixtureRequest) -> Asked:
    found: Asked = request.getfixturevalue(request.param)
    return found


@pytest.mark.parametrize(
    "say",
    [
        JSON.replace("1.1", "1.0") + '\r\n{"choices": [{"mess',
        JSON + '\r\n{"choices": [{"mess',
        JSON + "\r\n",
        JSON + 'Content-Length: 90\r\n\r\n{"choices": []}',
        JSON + CHUNKED + pieces('{"choices": []}'),
    ],
    ids=["old", "no length", "nothing", "short", "no last piece"],
)
def test_half_an_answer_is_a_502_and_not_asked_for_again(asked: Asked, say: str) -> None:
    answer, times = asked.says(say)

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_cut")
    assert times == 1


def test_an_answer_that_is_no_stream_gives_its_turn_back_when_its_time_is_over(
    launch: Launcher,
) -> None:
    mesh = launch([scripted("m", "--mode", "wedged")], MESH_ANSWER="1s", **QUICK)

    answer = mesh.chat(model="m")
    again = mesh.chat(model="m")

    for one in (answer, again):  # the second one had to have the turn of the first
        assert (one.status_code, one.json()["error"]["code"]) == (504, "upstream_silent")


def test_a_stream_that_never_begins_is_given_up_and_the_log_says_why(launch: Launcher) -> None:
    mesh = launch([scripted("m", "--mode", "wedged")], **QUICK)

    told = Listener(mesh, "m").all()

    assert error_of(told)["code"] == "upstream_silent"
    wait_until(lambda: "outcome=failed: the engine of m said nothing for 1 s" in mesh.log(), 60)


def test_an_answer_without_a_length_is_whole_where_it_is_json_to_its_end(asked: Asked) -> None:
    answer, _ = asked.says(JSON + '\r\n{"choices": []}')

    assert (answer.status_code, answer.json()) == (200, {"choices": []})


def test_half_a_refusal_keeps_its_status(asked: Asked) -> None:
    answer, _ = asked.says("HTTP/1.0 400 No\r\nContent-Type: text/plain\r\n\r\ntoo lo")

    assert (answer.status_code, answer.text) == (400, "too lo")


def test_an_answer_that_goes_wrong_after_its_first_bytes_is_not_asked_for_again(
    asked: Asked,
) -> None:
    answer, times = asked.says(JSON + CHUNKED + pieces('{"choices"') + "ZZ\r\n")

    assert (answer.status_code, times) == (502, 1)
    assert answer.json()["error"]["code"] in ("upstream_cut", "upstream_failed")


def test_an_event_before_a_wrong_piece_is_shown_and_the_stream_is_cut(engine: Asked) -> None:
    before = engine.times()
    listener = Listener(engine.mesh, MODEL, say=STREAM + CHUNKED + pieces(WORD) + "ZZ\r\n")

    data = listener.all()

    assert [b"word" in data, len(events(data))] == [True, 2]
    assert error_of(data)["code"] == "upstream_cut" and listener.ended == "cut"
    assert engine.times() - before == 1


@pytest.mark.parametrize(
    "say",
    [
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-Long: " + "x" * 70_000,
        WHOLE.replace("\r\nContent-L", "\r\nX-Nul: a\x00b\r\nContent-L"),
        WHOLE.replace("\r\nContent-L", "\r\nX Bad(: a\r\nContent-L"),
        WHOLE.replace("200", "101"),
        WHOLE.replace("200", "099"),
        WHOLE.replace("200", "999"),
    ],
    ids=["garbage", "endless head", "nul", "name", "101", "099", "999"],
)
def test_who_speaks_no_http_is_asked_once_and_the_client_told(asked: Asked, say: str) -> None:
    answer, times = asked.says(say)

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_failed")
    assert times == 1


def test_a_request_is_handed_over_three_times_at_most_kept_connections_included(
    asked: Asked,
) -> None:
    assert asked.says(WHOLE, keep=True)[0].status_code == 200

    answer, times = asked.says("")

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "engine_lost")
    assert times == 3


def test_an_answer_that_is_larger_than_a_mesh_holds_is_refused(engine: Asked) -> None:
    piece = pieces("1" * 2**20)

    answer, times = engine.says(piece, head=JSON + CHUNKED, times=66)

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_failed")
    assert "more than 64 MiB" in answer.json()["error"]["message"] and times == 1


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_falls_silent_is_cut_off(asked: Asked, stream: bool) -> None:
    said = STREAM + CHUNKED + pieces(WORD) if stream else JSON + CHUNKED + pieces('{"choices"')

    listener = Listener(asked.mesh, MODEL, say=said, hang=True, stream=stream)
    data = listener.all()

    assert b"said nothing for 1 s" in data and b"upstream_cut" in data
    assert (listener.status, listener.ended) == ((200, "cut") if stream else (502, "clean"))
