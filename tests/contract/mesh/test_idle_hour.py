"""Nobody asks a mesh for an hour, and it asks no peer: whatever it waits for is no reason to."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contract.mesh.listening import until
from tests.contract.mesh.mesh_processes import (
    CHAT,
    Mesh,
    environment,
    free_front_port,
    listens,
    scripted,
    wait_until,
)

PROGRAM = Path(__file__).parents[2] / "fakes/hasty_mesh.py"
ANSWER = {"model": "far", "choices": [{"message": {"content": "hello"}}]}


@dataclass
class Peer:
    """A peer that answers, and every connection that anybody opened to it."""

    url: str = ""
    connections: list[str] = field(default_factory=list)


@pytest.fixture
def peer() -> Iterator[Peer]:
    known = Peer()

    class Handler(BaseHTTPRequestHandler):
        def setup(self) -> None:
            known.connections.append(str(self.client_address))
            super().setup()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(ANSWER).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    known.url = f"http://127.0.0.1:{server.server_port}"
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def mesh(peer: Peer, tmp_path: Path) -> Iterator[Mesh]:
    """A coordinator with a model of its own, and that peer; its clock can jump."""
    port = free_front_port()
    environ = environment(
        [scripted("near")], PORT=str(port), MESH_FEDERATION_PEERS=f"peer-a={peer.url}|far"
    )
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, PROGRAM], env=environ, stdout=log, stderr=log)
    made = Mesh(process, f"http://127.0.0.1:{port}", tmp_path / "log")
    made.http.trust_env = False
    wait_until(lambda: listens(port) or process.poll() is not None, 30)
    assert process.poll() is None, made.log()
    yield made
    made.http.close()
    made.send(signal.SIGTERM)


def test_an_idle_hour_sends_a_peer_not_a_single_connection(mesh: Mesh, peer: Peer) -> None:
    before = [mesh.get(path).status_code for path in ("/v1/models", "/health", "/ready")]

    for hours in (1, 2, 3):
        mesh.process.send_signal(signal.SIGUSR1)
        wait_until(lambda n=hours: mesh.log().count("an hour went by") == n)  # type: ignore[misc]

    assert before == [200, 200, 200]
    assert peer.connections == []
    assert mesh.chat(model="near").status_code == 200
    assert peer.connections == []


def test_a_peer_that_was_asked_once_is_left_alone_for_the_hour_after(
    mesh: Mesh, peer: Peer
) -> None:
    assert mesh.chat(model="far").headers["x-mesh-peer"] == "peer-a"
    assert len(peer.connections) == 1

    mesh.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "an hour went by" in mesh.log())

    assert len(peer.connections) == 1


@pytest.mark.parametrize(
    "said", [b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: m\r\n\r\n"]
)
def test_a_connection_on_which_nothing_is_asked_is_closed(mesh: Mesh, said: bytes) -> None:
    connection = _connection(mesh, said)
    if said.endswith(b"\r\n\r\n"):
        until(connection, b'"ok"}')
    mesh.get("/health")  # by now the mesh has taken the connection, which came before this one

    mesh.process.send_signal(signal.SIGUSR1)

    assert _rest(connection) == b""


def test_a_client_that_does_not_send_its_body_is_told_that_it_took_too_long(mesh: Mesh) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nHost: m\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    connection = _connection(mesh, head.encode())
    until(connection, b"100 Continue\r\n\r\n")  # by now it is read for
    connection.sendall(b"{")

    mesh.process.send_signal(signal.SIGUSR1)
    answer = _rest(connection)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"request_timeout"' in answer


def test_a_mesh_that_stops_says_so_to_who_is_still_sending(mesh: Mesh) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nHost: m\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    connection = _connection(mesh, head.encode())
    until(connection, b"100 Continue\r\n\r\n")
    connection.sendall(b"{")

    mesh.process.send_signal(signal.SIGTERM)
    answer = _rest(connection)

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b'"stopping"' in answer


def _connection(mesh: Mesh, said: bytes) -> socket.socket:
    parts = urlsplit(mesh.url)
    assert parts.hostname and parts.port
    connection = socket.create_connection((parts.hostname, parts.port))
    connection.sendall(said)
    return connection


def _rest(connection: socket.socket) -> bytes:
    """All that comes until the mesh closes it."""
    connection.settimeout(60)
    data = b""
    with connection:
        while more := connection.recv(2**16):
            data += more
    return data
