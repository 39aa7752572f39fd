"""A model's declaration becomes exactly one command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meshctl.errors import UsageError
from meshctl.mesh.launch import launch_of
from meshctl.spec.registry import FileEntry, ModelEntry

MODELS = Path("models")


def model(*files: str, **more: Any) -> ModelEntry:
    entries = tuple(FileEntry(path=path, bytes=7, sha256="0" * 64) for path in files)
    return ModelEntry(**({"id": "m", "payload": "weights", "files": entries} | more))


def test_llama_server_shares_its_window_among_the_slots_and_names_its_own_port() -> None:
    launch = launch_of(model("a.gguf", aliases=("tiny",), context=1024, parallel=4), MODELS)

    assert launch.names_port
    assert " ".join(launch.command(0)) == (
        "llama-server --host 127.0.0.1 --metrics --no-webui -m models/weights/a.gguf"
        " -c 4096 -np 4 --alias m,tiny --port 0"
    )


def test_vllm_takes_the_folder_the_window_of_one_request_and_a_chosen_port() -> None:
    launch = launch_of(
        model("a.safetensors", engine="vllm", aliases=("tiny",), context=1024, parallel=4), MODELS
    )

    assert not launch.names_port
    assert " ".join(launch.command(9000)) == (
        "vllm serve --host 127.0.0.1 models/weights --max-model-len 1024 --max-num-seqs 4"
        " --served-model-name m tiny --port 9000"
    )


def test_the_first_shard_is_loaded_and_the_projector_beside_it() -> None:
    files = ("mmproj-f16.gguf", "q-00002-of-00002.gguf", "q-00001-of-00002.gguf")

    argv = launch_of(model(*files), MODELS).command(0)

    assert argv[argv.index("-m") + 1] == "models/weights/q-00001-of-00002.gguf"
    assert argv[argv.index("--mmproj") + 1] == "models/weights/mmproj-f16.gguf"
    assert "-c" not in argv


def test_a_command_of_its_own_is_filled_in_and_other_braces_stay() -> None:
    command = ("run", "{file}", "{id}:{port}", "{context}/{parallel}", '{"a": {}}')

    launch = launch_of(model("a.bin", engine="generic", command=command, context=8), MODELS)

    filled = ("run", "models/weights/a.bin", "m:5", "8/1", '{"a": {}}')
    assert launch.command(5) == filled


def test_every_payload_file_is_to_be_checked_with_its_size() -> None:
    launch = launch_of(model("a.gguf", "b.gguf"), MODELS)

    assert launch.files == ((MODELS / "weights/a.gguf", 7), (MODELS / "weights/b.gguf", 7))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ModelEntry(id="m"), "engine llama-server needs a payload or a command"),
        (ModelEntry(id="m", engine="generic"), "engine generic needs a command"),
        (ModelEntry(id="m", engine="generic", command=("x",)), "the command has no {port}"),
        (ModelEntry(id="m", command=("x", "{file}")), "asks for {file}, which the model does not"),
        (ModelEntry(id="m", command=("x", "{context}")), "asks for {context}, which the model"),
    ],
)
def test_what_cannot_be_started_is_refused(entry: ModelEntry, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        launch_of(entry, MODELS)

    assert refused.value.message.startswith("m: ") and message in refused.value.message
