"""Every OpenAI route is passed through as it is, and whatever is no request gets a short answer."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.contract.mesh.engines import odd
from tests.contract.mesh.listening import until
from tests.contract.mesh.mesh_processes import CHAT, Launcher, Mesh, scripted, wait_until

ECHO = '''
def answer(handler, asked):
    """Says what it was sent; a stream of /v1/responses ends as those do, without [DONE]."""
    if asked.get("stream"):
        handler.begin()
        for kind in ("response.created", "response.output_text.delta", "response.completed"):
            said = {"type": kind, "delta": "hello"}
            handler.wfile.write(f"event: {kind}\\ndata: {json.dumps(said)}\\n\\n".encode())
        return
    handler.begin("application/json")
    handler.wfile.write(json.dumps({"path": handler.path, "asked": asked}).encode())
'''
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: m\r\nConnection: close\r\n"
HUGE = 100 * 2**20
NO_HTTP = {
    "words": b"GARBAGE\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500,
    "version": b"GET / HTTP/9.9\r\n\r\n",
    "length": HEAD + b"Content-Length: some\r\n\r\n",
    "negative": HEAD + b"Content-Length: -1\r\n\r\n",
    "chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "smuggled": HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nabcd",
    "nul": b"GET /health HTTP/1.1\r\nX\0: y\r\n\r\n",
    "many-headers": HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(2000)) + b"\r\n",
    "long-header": HEAD + b"X: " + b"y" * 2**20 + b"\r\n\r\n",
    "long-path": b"GET /" + b"y" * 2**20 + b" HTTP/1.1\r\n\r\n",
    "no-gzip": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
}


@pytest.fixture(scope="module")
def mesh(launch: Launcher) -> Mesh:
    peers = [
        {
            "id": "a",
            "baseUrl": "http://a",
            "models": ["far", "wide", "echo"],
            "context": {"far": 9},
        },
        {"id": "b", "baseUrl": "http://b", "models": ["far", "*"], "priority": 1},
    ]
    models = [odd("echo", ECHO, default=True, aliases=["alias"], context=4096)]
    return launch(models, MESH_FEDERATION_PEERS=json.dumps(peers), MESH_LOG="debug")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"model": "echo", "input": ["one", "two"], "dimensions": 8}),
        ("/v1/rerank", {"model": "alias", "query": "q", "documents": ["d", "e"], "top_n": 1}),
        ("/v1/responses", {"model": "echo", "input": "hello", "tools": [{"type": "x"}]}),
        ("/v1/completions", {"model": "echo", "prompt": "hello", "logprobs": 3}),
        (CHAT + "?beta=true", {"model": "echo", "messages": [], "unheard_of": {"a": [1]}}),
    ],
)
def test_a_request_reaches_the_engine_as_it_was_sent(mesh: Mesh, path: str, body: Any) -> None:
    answer = mesh.http.post(mesh.url + path, json=body, timeout=30)

    assert answer.status_code == 200
    assert answer.json() == {"path": path, "asked": body}
    assert answer.headers["x-mesh-model"] == "echo"


def test_a_stream_of_responses_keeps_its_kinds_and_ends_clean(mesh: Mesh) -> None:
    body = {"model": "echo", "input": "hello", "stream": True}

    answer = mesh.http.post(mesh.url + "/v1/responses", json=body, timeout=30)

    lines = [line for line in answer.text.splitlines() if line.startswith("event:")]
    assert lines == [
        "event: response.created",
        "event: response.output_text.delta",
        "event: response.completed",
    ]


def test_models_are_listed_once_with_their_windows_whoever_has_them(mesh: Mesh) -> None:
    cards = mesh.get("/v1/models").json()["data"]

    shown = [(c["id"], c["owned_by"], c["max_model_len"], c["meta"]["n_ctx"]) for c in cards]
    assert shown == [
        ("echo", "meshctl", 4096, 4096),
        ("far", "peer:a", 9, 9),
        ("wide", "peer:a", None, None),
    ]
    assert cards[0]["aliases"] == ["alias"]


@pytest.fixture
def connection(mesh: Mesh) -> Iterator[socket.socket]:
    parts = urlsplit(mesh.url)
    assert parts.hostname and parts.port
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as made:
        yield made


def everything(connection: socket.socket) -> bytes:
    """All that comes until the other side closes, however it does that."""
    data = b""
    with suppress(ConnectionError):
        while more := connection.recv(2**16):
            data += more
    return data


@pytest.mark.parametrize("name", NO_HTTP)
def test_what_is_no_http_gets_a_short_400_and_an_end(
    mesh: Mesh, connection: socket.socket, name: str
) -> None:
    with ThreadPoolExecutor(1) as reader:
        whole = reader.submit(everything, connection)
        with suppress(ConnectionError):  # it may be refused before all of it is there
            connection.sendall(NO_HTTP[name])
        answer = whole.result()

    assert not answer or answer.split(b"\r\n")[0].split()[1] == b"400", answer
    assert len(answer) < 1000
    assert mesh.get("/health").status_code == 200
    assert "mesh error" not in mesh.log()


def memory_bytes(mesh: Mesh) -> int:
    """The most that the mesh ever had in memory."""
    status = Path(f"/proc/{mesh.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_a_body_of_100_mb_is_413_as_soon_as_that_is_known(mesh: Mesh) -> None:
    before = memory_bytes(mesh)
    parts = urlsplit(mesh.url)
    statuses = []
    for length in (b"Content-Length: %d" % HUGE, b"Transfer-Encoding: chunked"):
        with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
            connection.sendall(HEAD + length + b"\r\n\r\n")
            statuses.append(pushed(connection, chunked=b"chunked" in length))

    assert statuses == [b"413", b"413"]
    assert memory_bytes(mesh) - before < HUGE
    assert mesh.get("/health").status_code == 200


def pushed(connection: socket.socket, *, chunked: bool) -> bytes:
    """Sends up to 100 MB, and returns the status that came meanwhile."""
    block = b"x" * 2**16
    piece = b"10000\r\n" + block + b"\r\n" if chunked else block
    with ThreadPoolExecutor(1) as reader:
        answer = reader.submit(until, connection, b"\r\n")
        with suppress(ConnectionError):
            for _ in range(HUGE // len(block)):
                if answer.done():
                    break
                connection.sendall(piece)
        return answer.result().split()[1]


def test_clients_that_say_nothing_keep_nobody_from_being_answered(mesh: Mesh) -> None:
    parts = urlsplit(mesh.url)
    assert parts.hostname and parts.port
    silent = [socket.create_connection((parts.hostname, parts.port)) for _ in range(100)]
    for client in silent[::2]:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")

    answer = mesh.chat(model="echo")

    for client in silent:
        client.close()
    assert answer.status_code == 200
    wait_until(lambda: mesh.get("/ready").status_code == 200)


def test_orders_from_elsewhere_need_a_key(launch: Launcher) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no address but loopback")
    mesh = launch([scripted("a")])
    far = f"http://{address}:{urlsplit(mesh.url).port}"

    answers = [
        mesh.http.get(far + "/logs", timeout=30),
        mesh.http.post(far + "/unload", timeout=30),
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert {answer.json()["error"]["code"] for answer in answers} == {"keys_required"}
    assert mesh.http.get(far + "/v1/models", timeout=30).status_code == 200
    assert [row["model"] for row in mesh.get("/running").json()["running"]] == ["a"]
