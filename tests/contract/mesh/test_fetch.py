"""A mesh fetches what its models are loaded from: clients are held, and told when it fails."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.mesh.listening import Listener, comments, error_of, raw, words
from tests.contract.mesh.mesh_processes import (
    Launcher,
    Mesh,
    environment,
    fails_with,
    scripted,
    wait_until,
)
from tests.fakes.model_hub import ModelHub

MB = 2**20
FILES = {f"{name}.gguf": random.Random(n).randbytes(2 * MB) for n, name in enumerate("abc")}


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with ModelHub(FILES) as made:
        yield made


def fetched(hub: ModelHub, name: str, **more: Any) -> dict[str, Any]:
    """A model whose one file has to be fetched."""
    file = f"{name}.gguf"
    entry = {"path": file, **hub.declared(file), "source": hub.source(file)}
    return scripted(name, payload=name, files=[entry], **more)


def variables(hub: ModelHub, folder: Path, **more: str) -> dict[str, str]:
    kept = {"HF_ENDPOINT": hub.url, "HOME": str(folder), "MESH_MODELS_DIR": str(folder / "models")}
    return {**kept, "MESH_DEFAULT_MODEL": "plain", "MESH_KEEPALIVE": "500ms", **more}


def meshed(launch: Launcher, hub: ModelHub, folder: Path, names: str = "a", **more: str) -> Mesh:
    """A mesh whose default model needs no payload, beside others that are fetched."""
    models = [scripted("plain"), *(fetched(hub, name) for name in names)]
    return launch(models, **variables(hub, folder, **more))


def hold(hub: ModelHub) -> threading.Event:
    """The hub stops in the middle of a file until the event is set."""
    go = threading.Event()

    def wait(sent: int) -> None:
        if sent >= MB:
            go.wait(60)

    hub.before = wait
    return go


def test_a_client_is_held_while_a_model_is_fetched_and_then_answered(
    launch: Launcher, hub: ModelHub, tmp_path: Path
) -> None:
    mesh, go = meshed(launch, hub, tmp_path), hold(hub)

    held = Listener(mesh, "a")
    held.until(b": keep-alive", 60)
    plain = mesh.chat(model="plain")
    go.set()
    answer = held.all(60)

    assert plain.status_code == 200, "nobody is unloaded for a model that is still on its way"
    assert comments(answer)[0] == ": accepted; queued position 0"
    assert words(answer) and held.ended == "clean"
    assert (tmp_path / "models/a/a.gguf").read_bytes() == FILES["a.gguf"]
    assert "[a] fetching a.gguf: 100 %" in mesh.log()
    assert mesh.get("/running").json()["failed"] == []


def test_one_wrong_byte_never_reaches_an_engine_and_those_who_wait_hear_why(
    launch: Launcher, hub: ModelHub, tmp_path: Path
) -> None:
    hub.flip = 2 * MB - 1
    mesh = meshed(launch, hub, tmp_path)

    held = Listener(mesh, "a")
    error = error_of(held.all(60))
    refused = mesh.chat(model="a")
    (failed,) = mesh.get("/running").json()["failed"]

    assert "expected sha256" in error["message"] and error["code"] == "engine_unavailable"
    assert refused.status_code == 503
    assert refused.json()["error"]["message"] == error["message"]
    assert (failed["model"], failed["reason"]) == ("a", error["message"])
    assert not (tmp_path / "models/a/a.gguf").exists()
    assert "the engine of a" not in mesh.log()


def test_a_default_model_that_cannot_be_fetched_ends_the_mesh_before_its_port_opens(
    hub: ModelHub, tmp_path: Path
) -> None:
    hub.flip = 0
    given = variables(hub, tmp_path, MESH_DEFAULT_MODEL="a")

    code, log = fails_with(tmp_path / "log", environment([fetched(hub, "a")], **given))

    assert code == 1
    assert "the payload of a could not be fetched: a.gguf: expected sha256" in log


def test_the_cache_never_holds_more_than_was_declared(
    launch: Launcher, hub: ModelHub, tmp_path: Path
) -> None:
    mesh = meshed(launch, hub, tmp_path, "abc", MESH_CACHE=str(4 * MB))

    for name in "abca":
        assert mesh.chat(model=name).status_code == 200, mesh.log()
        kept = sorted(path.name for path in (tmp_path / "models").iterdir())
        assert name in kept and len(kept) <= 2

    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["a", "c"]


def test_where_only_one_payload_has_room_the_engine_goes_first(
    launch: Launcher, hub: ModelHub, tmp_path: Path
) -> None:
    models = [fetched(hub, name) for name in "ab"]
    given = variables(hub, tmp_path, MESH_DEFAULT_MODEL="a", MESH_CACHE=str(2 * MB))
    mesh = launch(models, **given)

    answers = [mesh.chat(model=name) for name in "ba"]

    assert [answer.status_code for answer in answers] == [200, 200], mesh.log()
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["a"]


def test_a_mesh_that_dies_leaves_no_fetch_behind_and_the_next_one_goes_on(
    launch: Launcher, hub: ModelHub, tmp_path: Path
) -> None:
    mesh, go = meshed(launch, hub, tmp_path), hold(hub)
    Listener(mesh, "a")
    wait_until(lambda: hub.sent >= MB, 60)
    fetching = [pid for pid in mesh.engines() if _fetches(pid)]

    mesh.send(signal.SIGKILL)
    wait_until(lambda: not any(_fetches(pid) for pid in fetching), 20)
    go.set()
    again = meshed(launch, hub, tmp_path)
    answer = again.chat(model="a")

    assert len(fetching) == 1
    assert answer.status_code == 200
    assert hub.sent < 2 * 2 * MB, "what was here was not sent again"


def _fetches(pid: int) -> bool:
    try:
        return b"fetch" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def test_a_mesh_that_is_told_to_stop_ends_its_fetch(
    launch: Launcher, hub: ModelHub, tmp_path: Path
) -> None:
    mesh, go = meshed(launch, hub, tmp_path), hold(hub)
    asking = raw(mesh, "a")
    wait_until(lambda: hub.sent >= MB, 60)
    asking.close()
    fetching = [pid for pid in mesh.engines() if _fetches(pid)]

    mesh.process.send_signal(signal.SIGTERM)
    mesh.process.wait(timeout=60)
    go.set()

    assert fetching, "it goes on for whoever asks next, although its client left"
    assert not any(_fetches(pid) for pid in fetching)
