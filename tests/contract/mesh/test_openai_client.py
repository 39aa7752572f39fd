"""The real openai-python reads what a mesh says: the waits, the answers and the failures."""

from __future__ import annotations

import threading
from pathlib import Path

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.contract.mesh.engines import FRAGILE, HALF, PREFILLING, REFUSING, odd
from tests.contract.mesh.listening import MESSAGES
from tests.contract.mesh.mesh_processes import Launcher, Mesh, scripted


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate") / "gate"


@pytest.fixture(scope="module")
def mesh(launch: Launcher, gate: Path, tmp_path_factory: pytest.TempPathFactory) -> Mesh:
    lives = tmp_path_factory.mktemp("lives") / "lives"
    return launch(
        [
            scripted("good", default=True),
            odd("comment", PREFILLING, gate),
            odd("chunk", PREFILLING, gate, keepalive="chunk"),
            odd("half", HALF),
            odd("fragile", FRAGILE, lives, 99),
        ],
        MESH_KEEPALIVE="100ms",
    )


def stream(mesh: Mesh, model: str) -> list[ChatCompletionChunk]:
    """Every chunk; raises what the client raises."""
    # Trusts the environment for proxies, as people's clients do: a test has none.
    with openai.OpenAI(base_url=mesh.url + "/v1", api_key="unused", max_retries=0) as client:
        return list(
            client.chat.completions.create(model=model, messages=MESSAGES, stream=True)  # type: ignore[call-overload]
        )


def text(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


@pytest.mark.parametrize("model", ["comment", "chunk"])
def test_an_answer_that_was_waited_for_is_whole(mesh: Mesh, gate: Path, model: str) -> None:
    gate.unlink(missing_ok=True)
    threading.Timer(1.0, gate.touch).start()

    chunks = stream(mesh, model)

    assert text(chunks) == "word two"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    assert (len(chunks) == 4) == (model == "comment"), "comments are no chunks"


def test_a_cut_answer_is_an_error_and_not_a_short_one(mesh: Mesh) -> None:
    with pytest.raises(openai.APIError, match="broke off in the middle"):
        stream(mesh, "half")


def test_a_lost_engine_is_an_error_with_its_reason(mesh: Mesh) -> None:
    with pytest.raises(openai.APIError, match="engine of fragile was lost before it answered"):
        stream(mesh, "fragile")


def test_what_is_refused_at_once_has_a_status(launch: Launcher) -> None:
    mesh = launch([odd("refusing", REFUSING)], MESH_KEEPALIVE_GRACE="20s")

    with pytest.raises(openai.BadRequestError, match="too long"):
        stream(mesh, "refusing")
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        stream(mesh, "nobody")


def test_an_answer_that_is_no_stream_and_the_list_of_models(mesh: Mesh) -> None:
    with openai.OpenAI(base_url=mesh.url + "/v1", api_key="unused") as client:
        answer = client.chat.completions.create(
            model="good",
            messages=MESSAGES,  # type: ignore[arg-type]
            max_tokens=2,
        )
        models = [model.id for model in client.models.list()]

    assert answer.choices[0].message.content == "The quick"
    assert models == ["good", "comment", "chunk", "half", "fragile"]
