"""A coordinator forwards what it does not own to its peers, and says whose answer it was."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.contract.mesh.mesh_processes import CHAT, Launcher, Mesh, free_front_port, scripted


@dataclass
class Pair:
    """A coordinator, its peer, and what the peer's engine was sent."""

    coordinator: Mesh
    peer: Mesh
    record: Path

    def last_request(self) -> dict[str, dict[str, str]]:
        entry: dict[str, dict[str, str]] = json.loads(self.record.read_text().splitlines()[-1])
        return entry


@pytest.fixture(scope="module")
def pair(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    record = tmp_path_factory.mktemp("record") / "record"
    flags = ("--reply", "peer speaking", "--record", str(record))
    peer = launch([scripted("far", *flags)], MESH_RELEASE="r-peer")
    peers = f"peer-a={peer.url}|far+further|0|1,dead=http://127.0.0.1:9|gone|0|1"
    coordinator = launch(
        [scripted("near")], MESH_RELEASE="r-coordinator", MESH_FEDERATION_PEERS=peers
    )
    return Pair(coordinator, peer, record)


def test_a_model_of_a_peer_is_answered_by_the_peer_and_says_so(pair: Pair) -> None:
    answer = pair.coordinator.chat(model="far")

    assert answer.json()["choices"][0]["message"]["content"] == "peer speaking"
    assert answer.headers["x-mesh-release"] == "r-peer"
    assert answer.headers["x-mesh-peer"] == "peer-a"
    assert answer.headers["x-mesh-model"] == "far"


def test_a_local_model_stays_here(pair: Pair) -> None:
    answer = pair.coordinator.chat(model="near")

    assert answer.headers["x-mesh-release"] == "r-coordinator"
    assert "x-mesh-peer" not in answer.headers


def test_a_stream_of_a_peer_ends_with_done(pair: Pair) -> None:
    answer = pair.coordinator.chat(model="far", stream=True)

    lines = [line for line in answer.iter_lines() if line]

    assert lines[-1] == b"data: [DONE]"
    assert answer.headers["x-mesh-release"] == "r-peer"


def test_a_refusal_of_the_peer_arrives_as_the_peer_gave_it(pair: Pair) -> None:
    answer = pair.coordinator.chat(model="further")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "model_not_found"
    assert answer.headers["x-mesh-release"] == "r-peer"


def test_a_dead_peer_is_502_from_the_coordinator_and_named(pair: Pair) -> None:
    answer = pair.coordinator.chat(model="gone")

    assert answer.status_code == 502
    assert answer.json()["error"]["message"].startswith("peer dead gave no answer: ")
    assert answer.headers["x-mesh-release"] == "r-coordinator"


def test_the_models_of_peers_are_listed_without_asking_them(pair: Pair) -> None:
    cards = pair.coordinator.get("/v1/models").json()["data"]

    assert [(card["id"], card["owned_by"]) for card in cards] == [
        ("near", "meshctl"),
        ("gone", "peer:dead"),
        ("far", "peer:peer-a"),
        ("further", "peer:peer-a"),
    ]


def test_a_clients_credential_goes_no_further_than_this_mesh(pair: Pair) -> None:
    headers = {"Authorization": "Bearer of-the-client", "x-request-id": "42"}

    pair.coordinator.http.post(
        pair.coordinator.url + CHAT, json={"model": "far", "messages": []}, headers=headers
    )

    sent = {name.lower(): value for name, value in pair.last_request()["headers"].items()}
    assert "authorization" not in sent
    assert sent["x-request-id"] == "42"


def test_a_default_model_at_a_peer_is_named_in_what_is_sent(launch: Launcher, pair: Pair) -> None:
    front = launch(
        [], MESH_FEDERATION_PEERS=f"peer-a={pair.peer.url}|far", MESH_DEFAULT_MODEL="far"
    )

    answer = front.chat()

    assert answer.headers["x-mesh-peer"] == "peer-a"
    assert pair.last_request()["body"]["model"] == "far"


def test_two_meshes_that_point_at_each_other_do_not_loop(launch: Launcher) -> None:
    first, second = str(free_front_port()), str(free_front_port())
    one = launch([], PORT=first, MESH_FEDERATION_PEERS=f"two=http://127.0.0.1:{second}|*")
    launch([], PORT=second, MESH_FEDERATION_PEERS=f"one=http://127.0.0.1:{first}|*")

    answer = one.chat(model="anything")

    assert answer.status_code == 508
    assert answer.json()["error"]["code"] == "forwarding_loop"


@dataclass
class Metadata:
    """A metadata server that hands out one token, and what it was asked."""

    host: str = ""
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def metadata() -> Iterator[Metadata]:
    """Whoever posts to it is sent to its token, as a peer that turned bad would do."""
    known = Metadata()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append(self.path)
            self.send_response(200 if self.headers["Metadata-Flavor"] == "Google" else 403)
            self.end_headers()
            self.wfile.write(b"token-1")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(302)
            self.send_header("Location", "/token")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    known.host = f"127.0.0.1:{server.server_port}"
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_peer_that_redirects_is_502_and_no_token_reaches_the_client(
    launch: Launcher, metadata: Metadata
) -> None:
    front = launch([], MESH_FEDERATION_PEERS=f"bad=http://{metadata.host}|far")

    answer = front.http.post(
        front.url + CHAT, json={"model": "far"}, headers={"Metadata-Flavor": "Google"}
    )

    assert answer.status_code == 502
    error = answer.json()["error"]
    assert (error["code"], error["src"]) == ("upstream_failed", "mesh")
    assert error["message"].startswith("peer bad gave no answer: it answered 302")
    assert "location" not in answer.headers
    assert metadata.asked == []


def test_a_name_that_cannot_travel_in_a_header_is_refused_before_a_peer_sees_it(
    launch: Launcher, metadata: Metadata
) -> None:
    front = launch([], MESH_FEDERATION_PEERS=f"any=http://{metadata.host}|*")

    answers = [front.chat(model=name) for name in ("m\r\nx: y", "m\n", "m\0", "m" * 9000)]

    assert [answer.status_code for answer in answers] == [400] * 4
    assert {answer.json()["error"]["param"] for answer in answers} == {"model"}


def test_a_private_peer_is_shown_an_identity_token_fetched_once(
    launch: Launcher, metadata: Metadata, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    engine = launch([scripted("own", "--record", str(record))])
    url = next(word for word in engine.log().split() if word.startswith("http://127.0.0.1"))
    front = launch([], MESH_FEDERATION_PEERS=f"p={url}|far", GCE_METADATA_HOST=metadata.host)

    answers = [front.chat(model="far"), front.chat(model="far")]

    assert [answer.status_code for answer in answers] == [200, 200]
    sent = [json.loads(line)["headers"] for line in record.read_text().splitlines()]
    assert [headers["Authorization"] for headers in sent] == ["Bearer token-1"] * 2
    assert len(metadata.asked) == 1 and metadata.asked[0].endswith(f"identity?audience={url}")
