"""The Cloud Run door with the real client on it, against a server that answers what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from meshctl.errors import MeshctlError
from meshctl.outside.cloudrun import RestCloudRun
from meshctl.outside.gcp import ApiError, Calls, Cloud, Conflict, LostAnswer

PARENT = "projects/p/locations/r"
OPERATION = f"{PARENT}/operations/o1"


class Server:
    """`answers` by method and path without its query: status and body, the last one for ever."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[int, Any]]] = {}
        self.asked: list[str] = []

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        self.asked.append(f"{method} {path}")
        left = self.answers[f"{method} {path.partition('?')[0]}"]
        return left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def server() -> Iterator[tuple[Server, RestCloudRun, Calls]]:
    script, calls = Server(), Calls()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            status, body = script.answer(self.command, self.path)
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_PATCH = do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        cloud = Cloud("p", "r", f"http://127.0.0.1:{listening.server_address[1]}")
        yield script, RestCloudRun(cloud, calls, operation_s=0.3), calls
        listening.shutdown()
        thread.join()


Fixture = tuple[Server, RestCloudRun, Calls]


def test_every_page_of_a_list_is_read_and_counts_as_a_call(server: Fixture) -> None:
    script, door, calls = server
    rows = [{"name": f"{PARENT}/services/s{n}"} for n in range(3)]
    script.answers[f"GET /v2/{PARENT}/services"] = [
        (200, {"services": rows[:2], "nextPageToken": "two"}), (200, {"services": rows[2:]}),
    ]  # fmt: skip

    found = door.list_services()

    assert [row["name"] for row in found] == [row["name"] for row in rows]
    assert calls.made == [f"run services.list {PARENT}", f"run services.list {PARENT}, page 2"]
    assert "pageSize=100" in script.asked[0]
    assert "pageToken=two" in script.asked[1]


def test_the_revisions_of_all_services_are_one_list(server: Fixture) -> None:
    script, door, calls = server
    row = {"name": f"{PARENT}/services/s/revisions/s-1", "service": "s"}
    script.answers[f"GET /v2/{PARENT}/services/-/revisions"] = [(200, {"revisions": [row]})]

    assert door.list_revisions("-") == [row]
    assert calls.made == ["run revisions.list -"]


def patched(script: Server, *operation: dict[str, Any]) -> None:
    """A write is answered by an operation, which then goes through these states."""
    script.answers[f"PATCH /v2/{PARENT}/services/s"] = [(200, {"name": OPERATION, "done": False})]
    states = [(200, {"name": OPERATION, **state}) for state in operation]
    script.answers[f"GET /v2/{OPERATION}"] = list(states)


def test_an_operation_that_never_ends_is_a_lost_answer(server: Fixture) -> None:
    script, door, _ = server
    patched(script, {"done": False})

    with pytest.raises(LostAnswer, match=r"its operation goes on after 0\.3 s"):
        door.update_service("s", {"scaling": {"minInstanceCount": 1}}, ["scaling"])


@pytest.mark.parametrize(
    ("code", "status", "ours"),
    [
        (9, "FAILED_PRECONDITION", ApiError),
        (10, "ABORTED", Conflict),
        (13, "INTERNAL", ApiError),
        (14, "UNAVAILABLE", ApiError),
        (8, "RESOURCE_EXHAUSTED", ApiError),
        (99, "UNKNOWN", ApiError),
    ],
)
def test_an_operation_that_failed_says_no_and_is_never_a_lost_answer(
    server: Fixture, code: int, status: str, ours: type
) -> None:
    script, door, _ = server
    patched(script, {"done": True, "error": {"code": code, "message": "no GPU was free"}})

    with pytest.raises(MeshctlError) as found:
        door.update_service("s", {"scaling": {"minInstanceCount": 1}}, ["scaling"])

    assert type(found.value) is ours
    assert found.value.message == f"no GPU was free ({status})"
    assert found.value.place == f"{PARENT}/services/s"


@pytest.mark.parametrize("body", [b"<html>sign in</html>", b"\xff\xfe", b"[]", b'"services"', b""])
@pytest.mark.parametrize("status", [200, 302, 404, 502])
def test_whatever_somebody_in_between_sends_is_no_service_and_no_missing_one(
    server: Fixture, status: int, body: bytes
) -> None:
    script, door, _ = server
    script.answers[f"GET /v2/{PARENT}/services/s"] = [(status, body)]

    with pytest.raises(MeshctlError) as found:
        door.get_service("s")

    assert found.value.exit_code in (6, 8)
    assert len(found.value.message) < 200
