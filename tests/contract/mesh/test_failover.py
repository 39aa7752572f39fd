"""A request finds a peer that answers, in the declared order, and never wakes one to ask."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.contract.mesh.listening import Listener, comments, error_of, words
from tests.contract.mesh.mesh_processes import Launcher, Mesh, scripted, wait_until

DEAD = "http://127.0.0.1:9"
QUICK = {"MESH_KEEPALIVE": "200ms"}
HELLO = b'data: {"choices":[{"index":0,"delta":{"content":"late"}}]}\n\n'


@dataclass
class Peer:
    """A stranger that plays a peer; `go` lets its streams begin."""

    status: int = 200
    url: str = ""
    asked: list[str] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def stranger() -> Iterator[Callable[[int], Peer]]:
    servers = []

    def start(status: int) -> Peer:
        peer = Peer(status)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                peer.asked.append(asked["model"])
                if asked.get("stream"):
                    peer.go.wait(30)
                stream = asked.get("stream") and peer.status == 200
                self.send_response(peer.status)
                self.send_header(
                    "Content-Type", "text/event-stream" if stream else "application/json"
                )
                self.end_headers()
                self.wfile.write(HELLO + b"data: [DONE]\n\n" if stream else b'{"by":"stranger"}')

            def log_message(self, format: str, *args: object) -> None:
                """Silence."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append((server, threading.Thread(target=server.serve_forever), peer))
        servers[-1][1].start()
        peer.url = f"http://127.0.0.1:{server.server_port}"
        return peer

    yield start
    for server, thread, peer in servers:
        peer.go.set()
        server.shutdown()
        thread.join()
        server.server_close()


def peers(*entries: str) -> dict[str, str]:
    return {"MESH_FEDERATION_PEERS": ",".join(entries)}


@pytest.fixture(scope="module")
def alive(launch: Launcher) -> Mesh:
    return launch([scripted("far", "--reply", "alive", parallel=8)], MESH_RELEASE="r-alive")


def test_the_next_peer_answers_where_the_first_is_dead(launch: Launcher, alive: Mesh) -> None:
    front = launch([], **peers(f"dead={DEAD}|far|0", f"alive={alive.url}|far|1"))

    answers = [front.chat(model="far") for _ in range(3)]

    assert [answer.headers["x-mesh-peer"] for answer in answers] == ["alive"] * 3
    assert answers[0].headers["x-mesh-release"] == "r-alive"
    assert 'mesh_peer_up{peer="alive"} 1' in front.get("/metrics").text


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_peer_that_cannot_answer_now_gives_way_to_the_next(
    launch: Launcher, alive: Mesh, stranger: Callable[[int], Peer], status: int
) -> None:
    busy = stranger(status)
    front = launch([], **peers(f"busy={busy.url}|far|0", f"alive={alive.url}|far|1"))

    answer = front.chat(model="far")

    assert (answer.status_code, answer.headers["x-mesh-peer"]) == (200, "alive")
    assert busy.asked == ["far"]


def test_the_refusal_of_the_last_peer_is_passed_on(
    launch: Launcher, stranger: Callable[[int], Peer]
) -> None:
    busy = stranger(503)
    front = launch([], **peers(f"dead={DEAD}|far|0", f"busy={busy.url}|far|1"))

    answer = front.chat(model="far")

    assert (answer.status_code, answer.json()) == (503, {"by": "stranger"})


def test_a_refusal_of_the_request_itself_is_not_taken_elsewhere(
    launch: Launcher, alive: Mesh, stranger: Callable[[int], Peer]
) -> None:
    strict = stranger(400)
    front = launch([], **peers(f"strict={strict.url}|far|0", f"alive={alive.url}|far|1"))

    answer = front.chat(model="far")

    assert (answer.status_code, answer.headers["x-mesh-peer"]) == (400, "strict")


def test_equal_peers_share_the_requests(launch: Launcher, stranger: Callable[[int], Peer]) -> None:
    one, two, least = stranger(200), stranger(200), stranger(200)
    front = launch(
        [], **peers(f"a={one.url}|far|0|5", f"b={two.url}|far|0|5", f"c={least.url}|far|0|1")
    )

    for _ in range(6):
        front.chat(model="far")

    assert [len(peer.asked) for peer in (one, two, least)] == [3, 3, 0]


def test_a_cold_start_of_a_peer_is_held_like_any_wait(
    launch: Launcher, stranger: Callable[[int], Peer]
) -> None:
    sleeping = stranger(200)
    front = launch([], **(peers(f"p={sleeping.url}|far") | QUICK))

    listener = Listener(front, "far")
    before = listener.until(b": keep-alive")
    sleeping.go.set()

    assert comments(before)[0] == ": accepted; queued position 0"
    assert words(listener.all()) == "late" and listener.ended == "clean"
    assert "x-mesh-release" not in listener.headers, "nobody knew yet whose it would be"


def test_a_peer_that_never_wakes_is_an_error_in_the_end(
    launch: Launcher, stranger: Callable[[int], Peer]
) -> None:
    sleeping = stranger(200)
    front = launch([], **peers(f"p={sleeping.url}|far"), MESH_PEER_TIMEOUT="1s")

    listener = Listener(front, "far")

    assert error_of(listener.all())["code"] == "upstream_timeout"
    assert listener.ended == "cut"
    assert 'mesh_peer_up{peer="p"} 0' in front.get("/metrics").text


def test_where_a_peers_client_stands_is_told_on(launch: Launcher) -> None:
    peer = launch(
        [scripted("near", default=True), scripted("far", "--load", "2")], MESH_MIN_RESIDENCY="0s"
    )
    front = launch([], **(peers(f"p={peer.url}|far") | QUICK))

    listener = Listener(front, "far", max_tokens=1)
    listener.until(b": keep-alive")
    data = listener.all()

    assert words(data) == "The"
    assert [line for line in comments(data) if line != ": keep-alive"] == [
        ": accepted; queued position 0"
    ], "the peer's own first word is not shown a second time"
    assert listener.headers["x-mesh-peer"] == "p"


def test_a_model_that_would_have_to_be_loaded_is_answered_by_a_peer_that_has_it(
    launch: Launcher, alive: Mesh
) -> None:
    models = [scripted("near", default=True), scripted("far", "--reply", "loaded here")]
    front = launch(models, **peers(f"alive={alive.url}|far"))

    answer = front.chat(model="far")

    assert answer.headers["x-mesh-peer"] == "alive"
    assert "the engine of far is ready" not in front.log()


@pytest.mark.parametrize("status", [None, 404, 503])
def test_where_no_peer_has_it_the_model_is_loaded_here(
    launch: Launcher, stranger: Callable[[int], Peer], status: int | None
) -> None:
    url = stranger(status).url if status else DEAD
    models = [scripted("near", default=True), scripted("far", "--reply", "loaded here")]
    front = launch(models, **peers(f"p={url}|*"))

    answer = front.chat(model="far")

    assert answer.json()["choices"][0]["message"]["content"] == "loaded here"
    assert "x-mesh-peer" not in answer.headers


def test_what_was_forwarded_once_is_answered_where_it_arrives(
    launch: Launcher, stranger: Callable[[int], Peer]
) -> None:
    never = stranger(200)
    models = [scripted("near", default=True), scripted("far", "--reply", "loaded here")]
    mesh = launch(models, **peers(f"p={never.url}|*"))

    body = {"model": "far", "messages": []}
    answer = mesh.http.post(
        mesh.url + "/v1/chat/completions", json=body, headers={"x-mesh-hop": "1"}, timeout=30
    )

    assert answer.json()["choices"][0]["message"]["content"] == "loaded here"
    assert never.asked == []


def test_a_peer_that_failed_is_not_asked_again_while_another_one_is_well(
    launch: Launcher, alive: Mesh, stranger: Callable[[int], Peer]
) -> None:
    ill = stranger(503)
    front = launch([], **peers(f"ill={ill.url}|far|0", f"alive={alive.url}|far|1"))
    front.chat(model="far")

    wait_until(lambda: front.chat(model="far") and len(ill.asked) == 3, 30)

    text = front.get("/metrics").text
    assert 'mesh_peer_up{peer="ill"} 0' in text
    answered = text.split('mesh_requests_total{model="far",outcome="answered"} ')[1]
    assert int(answered.split()[0]) > 3, "most went by it"
