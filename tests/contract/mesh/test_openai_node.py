"""The real openai-node and curl read what a mesh says: the waits, the answers, the failures."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.contract.mesh.engines import HALF, PREFILLING, REFUSING, odd
from tests.contract.mesh.listening import MESSAGES, error_of
from tests.contract.mesh.mesh_processes import CHAT, Launcher, Mesh, scripted, wait_until

VERSION = "6.49.0"
PROGRAM = Path(__file__).parents[2] / "fakes/openai_client.cjs"
CALLING = '''
def answer(handler, asked):
    """A tool call in pieces, as engines stream it; the first one when the file `argv[2]` exists."""
    handler.begin()
    handler.wfile.write(event({"role": "assistant", "content": None}))
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    name = {"name": "weather", "arguments": ""}
    first = {"index": 0, "id": "call-1", "type": "function", "function": name}
    handler.wfile.write(event({"tool_calls": [first]}))
    for piece in ('{"city"', ': "Oslo"}'):
        more = {"index": 0, "function": {"arguments": piece}}
        handler.wfile.write(event({"tool_calls": [more]}))
    handler.wfile.write(event({}, finish_reason="tool_calls") + b"data: [DONE]\\n\\n")
'''


class Node:
    """openai-node, installed in a folder that outlives the tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, mesh: Mesh, body: dict[str, Any], **more: Any) -> dict[str, Any]:
        """What the library made of the answer."""
        with self.asking(mesh, body, **more) as process:
            return heard(process)

    @contextmanager
    def asking(
        self, mesh: Mesh, body: dict[str, Any], **more: Any
    ) -> Iterator[subprocess.Popen[str]]:
        """The client at work; it ends with the context."""
        asked = json.dumps({"body": {"messages": MESSAGES} | body} | more)
        command = ["node", str(PROGRAM), str(self._folder), mesh.url + "/v1", asked]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            try:
                yield process
            finally:
                process.kill()


def heard(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The one line that the client prints."""
    assert process.stdout
    line = process.stdout.readline()
    assert line, "node ended without a word"
    result: dict[str, Any] = json.loads(line)
    return result


@pytest.fixture(scope="session")
def node() -> Node:
    """Installed once a machine, beside nobody else who installs it."""
    missing = [program for program in ("node", "npm") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed on this machine")
    folder = Path(tempfile.gettempdir()) / f"meshctl-openai-node-{VERSION}-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        pytest.skip(f"{folder} belongs to somebody else")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            _install(folder)
    return Node(folder)


def _install(folder: Path) -> None:
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    command += ["--prefix", str(folder), f"openai@{VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not fetch openai {VERSION} within two minutes")
    if done.returncode:
        pytest.skip(f"npm cannot fetch openai {VERSION} here: {done.stderr.strip()[:200]}")
    (folder / "installed").touch()


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate") / "gate"


@pytest.fixture(scope="module")
def mesh(launch: Launcher, gate: Path) -> Mesh:
    return launch(
        [
            scripted("good", default=True, sets=("all",)),
            scripted("slow", "--mode", "slow", "--delay", "0.2", sets=("all",)),
            odd("comment", PREFILLING, gate, sets=("all",)),
            odd("chunk", PREFILLING, gate, sets=("all",), keepalive="chunk"),
            odd("calls-comment", CALLING, gate, sets=("all",)),
            odd("calls-chunk", CALLING, gate, sets=("all",), keepalive="chunk"),
            odd("half", HALF, sets=("all",)),
        ],
        MESH_KEEPALIVE="100ms",
        MESH_KEEPALIVE_GRACE="100ms",
    )


def keep_alives(mesh: Mesh) -> int:
    lines = mesh.get("/metrics").text.splitlines()
    return next(int(n.split()[1]) for n in lines if n.startswith("mesh_keepalives_sent_total "))


def held(node: Node, mesh: Mesh, gate: Path, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the library made of an answer that came after some keep-alives."""
    gate.unlink(missing_ok=True)
    before = keep_alives(mesh)
    with node.asking(mesh, body | {"stream": True}, **more) as process:
        wait_until(lambda: keep_alives(mesh) >= before + 3, 30)
        gate.touch()
        return heard(process)


def text(chunks: list[dict[str, Any]]) -> str:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


@pytest.mark.parametrize("model", ["comment", "chunk"])
def test_an_answer_that_was_waited_for_is_whole(
    mesh: Mesh, node: Node, gate: Path, model: str
) -> None:
    chunks = held(node, mesh, gate, {"model": model})["chunks"]

    assert text(chunks) == "word two"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert (len(chunks) == 4) == (model == "comment"), "comments are no chunks"


@pytest.mark.parametrize("model", ["calls-comment", "calls-chunk"])
def test_a_tool_call_that_was_waited_for_is_put_together(
    mesh: Mesh, node: Node, gate: Path, model: str
) -> None:
    answer = held(node, mesh, gate, {"model": model}, gather=True)["answer"]

    (choice,) = answer["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert (call["id"], call["function"]["name"]) == ("call-1", "weather")
    assert json.loads(call["function"]["arguments"]) == {"city": "Oslo"}


def test_a_cut_answer_is_an_error_and_not_a_short_one(mesh: Mesh, node: Node) -> None:
    result = node.ask(mesh, {"model": "half", "stream": True})

    assert result["error"]["known"]
    assert "broke off in the middle" in result["error"]["message"]
    assert text(result["chunks"]) == "word"


def test_what_is_refused_at_once_has_a_status(launch: Launcher, node: Node) -> None:
    mesh = launch([odd("refusing", REFUSING)], MESH_KEEPALIVE_GRACE="20s")

    refused = [node.ask(mesh, {"model": m, "stream": True})["error"] for m in ("refusing", "none")]

    assert [error["status"] for error in refused] == [400, 404]
    assert "too long" in refused[0]["message"]


def test_an_abort_frees_the_turn_although_the_client_lives_on(mesh: Mesh, node: Node) -> None:
    body = {"model": "slow", "stream": True, "max_tokens": 100_000}

    with node.asking(mesh, body, leave_after=2) as process:
        result = heard(process)
        wait_until(lambda: 'model="slow",outcome="left"} 1' in mesh.get("/metrics").text, 20)
        after = mesh.chat(model="slow", max_tokens=1)
        alive = process.poll() is None

    assert len(result["chunks"]) == 2 and result["error"] is None
    assert (after.status_code, alive) == (200, True)


def test_an_answer_that_is_no_stream_and_the_list_of_models(mesh: Mesh, node: Node) -> None:
    result = node.ask(mesh, {"model": "good", "max_tokens": 2})

    assert result["answer"]["choices"][0]["message"]["content"] == "The quick"
    assert result["models"][:2] == ["good", "slow"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed on this machine")
def test_curl_ends_with_an_error_where_an_answer_was_cut(mesh: Mesh) -> None:
    body = '{"model": "half", "stream": true, "messages": []}'

    command = ["curl", "-sN", "--noproxy", "*", mesh.url + CHAT, "-d", body]
    done = subprocess.run(command, capture_output=True, timeout=30)

    assert done.returncode == 18, "a partial file, as curl calls it"
    assert error_of(done.stdout)["code"] == "upstream_cut"
