"""A mesh with keys answers who shows one, and its keys go nowhere: no engine, no peer, no log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import openai
import pytest

from tests.contract.mesh.mesh_processes import CHAT, Launcher, Mesh, scripted, wait_until

KEY, OTHER, PEER = "key-of-alice-0123456", "key-of-bob-012345678", "key-of-meshes-012345"
CLOSED = [
    ("GET", "/v1/models"), ("GET", "/running"), ("GET", "/metrics"), ("GET", "/logs"),
    ("POST", "/unload"), ("POST", CHAT), ("POST", "/v1/embeddings"), ("GET", "/nowhere"),
    ("GET", CHAT), ("OPTIONS", CHAT),
]  # fmt: skip


@dataclass
class Guarded:
    """A mesh with two keys, and what its engine was sent."""

    mesh: Mesh
    record: Path

    def sent(self) -> dict[str, str]:
        """The headers of the last request that reached the engine."""
        last = json.loads(self.record.read_text().splitlines()[-1])
        return {name.lower(): value for name, value in last["headers"].items()}


@pytest.fixture(scope="module")
def guarded(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "keys").write_text(f"{KEY}\n{OTHER}\n")
    model = scripted("own", "--record", str(folder / "record"))
    mesh = launch([model], MESH_API_KEYS=f"@{folder}/keys", MESH_PEER_KEY=PEER, MESH_LOG="debug")
    return Guarded(mesh, folder / "record")


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_without_a_key_nothing_is_told_and_nothing_is_done(
    guarded: Guarded, method: str, path: str
) -> None:
    mesh = guarded.mesh

    answers = [
        mesh.http.request(method, mesh.url + path, data=b"{", headers=headers, timeout=30)
        for headers in ({}, {"Authorization": f"Bearer {KEY[:-1]}"}, {"x-api-key": "nonsense"})
    ]

    assert [answer.status_code for answer in answers] == [401] * 3
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {"Bearer"}
    errors = [answer.json()["error"] for answer in answers]
    assert {(error["code"], error["src"]) for error in errors} == {("invalid_api_key", "mesh")}


def test_a_path_cannot_write_a_line_of_its_own_into_the_log(guarded: Guarded) -> None:
    guarded.mesh.get("/a%0Amesh%20error:%20forged")

    wait_until(lambda: "/a%0Amesh%20error:%20forged: no known key" in guarded.mesh.log())
    assert "\nmesh error: forged" not in guarded.mesh.log()


def test_probes_need_no_key(guarded: Guarded) -> None:
    assert [guarded.mesh.get(path).status_code for path in ("/health", "/ready")] == [200, 200]


def test_openai_python_passes_with_a_key_and_raises_its_own_error_without(
    guarded: Guarded,
) -> None:
    url, asked = guarded.mesh.url + "/v1", [{"role": "user", "content": "hello"}]
    answers = []
    for key in (KEY, OTHER):
        with openai.OpenAI(base_url=url, api_key=key, max_retries=0) as client:
            answers.append(client.chat.completions.create(model="own", messages=asked))  # type: ignore[arg-type]

    with (
        openai.OpenAI(base_url=url, api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError) as refused,
    ):
        client.chat.completions.create(model="own", messages=asked)  # type: ignore[arg-type]

    assert all(answer.choices[0].message.content for answer in answers)
    assert refused.value.code == "invalid_api_key"


def test_a_key_reaches_neither_the_engine_nor_its_environment_nor_the_log(
    guarded: Guarded,
) -> None:
    mesh = guarded.mesh
    headers = {"Authorization": f"Bearer {KEY}", "x-api-key": OTHER}

    answer = mesh.http.post(mesh.url + CHAT, json={"messages": []}, headers=headers, timeout=30)
    log = mesh.http.get(mesh.url + "/logs", headers=headers, timeout=30)

    assert (answer.status_code, log.status_code) == (200, 200)
    assert not {"authorization", "x-api-key"} & set(guarded.sent())
    [engine] = mesh.engines()
    environ = Path(f"/proc/{engine}/environ").read_text()
    for secret in (KEY, OTHER, PEER):
        assert secret not in environ + mesh.log() + log.text + json.dumps(guarded.sent())


def test_two_meshes_with_keys_of_their_own_answer_for_each_other(
    launch: Launcher, guarded: Guarded
) -> None:
    peers = f"p={guarded.mesh.url}|own+more"
    front = launch([], MESH_FEDERATION_PEERS=peers, MESH_API_KEYS=OTHER, MESH_PEER_KEY=KEY)

    answer = front.http.post(
        front.url + CHAT,
        json={"model": "own", "messages": []},
        headers={"Authorization": f"Bearer {OTHER}"},
        timeout=30,
    )

    assert answer.status_code == 200
    assert answer.headers["x-mesh-peer"] == "p"
    assert not {"authorization", "x-api-key"} & set(guarded.sent())


@pytest.mark.parametrize("key", [{}, {"MESH_PEER_KEY": PEER}], ids=["none", "wrong"])
def test_a_peer_that_does_not_let_the_mesh_in_is_no_fault_of_the_client(
    launch: Launcher, guarded: Guarded, key: dict[str, str]
) -> None:
    front = launch([], MESH_FEDERATION_PEERS=f"p={guarded.mesh.url}|own", **key)

    answer = front.chat(model="own")

    assert answer.status_code == 502
    assert "peer p gave no answer: it did not let this mesh in (401)" in answer.text
    assert PEER not in front.log()


def test_an_engine_finds_no_key_in_what_linux_shows_of_the_mesh(guarded: Guarded) -> None:
    shown = Path(f"/proc/{guarded.mesh.process.pid}/environ").read_bytes()

    assert PEER.encode() not in shown
    assert b"MESH_PEER_KEY=\0" in shown
    assert b"MESH_RELEASE=r-test\0" in shown, "nothing else was touched"
