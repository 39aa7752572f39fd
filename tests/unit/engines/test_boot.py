"""The first real line of an engine's log is the reason, whatever is printed after it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.engines.boot import BootFacts, read_boot, read_line
from meshctl.engines.generic import GENERIC
from meshctl.engines.known import ENGINES
from meshctl.engines.llama_server import LLAMA_SERVER
from meshctl.engines.vllm import VLLM

READY = """\
0.00.005.607 I srv          init: The UI is disabled
0.00.005.947 W srv  llama_server: CORS is set to allow all origins ('*') and no API key is set
0.00.007.703 I srv    load_model: loading model 'small.gguf'
AMX is not ready to be used!
0.00.691.121 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 1024, kv_unified = 'false'
0.00.695.950 I srv  llama_server: model loaded
0.00.695.974 I srv  llama_server: listening on http://127.0.0.1:37633
"""
MISSING = """\
0.00.005.564 I srv    load_model: loading model '/nonexistent.gguf'
0.00.006.418 E gguf_init_from_file: failed to open GGUF file '/x.gguf' (No such file or directory)
0.00.006.520 E llama_model_load: error loading model: llama_model_loader: failed to load model
0.00.006.580 E common_fit_params: encountered an error while trying to fit params to free memory
0.00.006.627 E srv    load_model: failed to load model, '/x.gguf'
0.00.008.277 E srv  llama_server: exiting due to model loading error
"""
NO_ROOM = """\
(EngineCore pid=7) INFO 11-30 10:00:00 [model.py:1] Starting to load model org/m...
(EngineCore pid=7) INFO 11-30 10:00:09 [model.py:9] Model loading took 14.2 GiB memory and 8.1 seconds
(EngineCore pid=7) ERROR 11-30 10:00:10 [core.py:1] EngineCore failed to start.
(EngineCore pid=7) ERROR 11-30 10:00:10 [core.py:1] Traceback (most recent call last):
(EngineCore pid=7) ERROR 11-30 10:00:10 [core.py:1] ValueError: No available memory for the cache blocks. Try
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.
"""  # noqa: E501


def test_a_good_start_shows_its_port_and_that_it_is_ready() -> None:
    facts = read_boot(LLAMA_SERVER, READY.splitlines())

    assert (facts.port, facts.phase) == (37633, "ready")
    assert (facts.cause, facts.error) == ("", "")


def test_wrappers_never_hide_the_first_error() -> None:
    facts = read_boot(LLAMA_SERVER, MISSING.splitlines())

    assert facts.reason == (
        "gguf_init_from_file: failed to open GGUF file '/x.gguf' (No such file or directory)"
    )
    assert facts.signature and facts.signature.id == "file-missing"
    assert facts.phase == "load"


def test_the_root_cause_of_a_traceback_is_found() -> None:
    facts = read_boot(VLLM, NO_ROOM.splitlines())

    assert facts.reason == "ValueError: No available memory for the cache blocks. Try"
    assert facts.phase == "kv"
    assert "quantise" in facts.remedy


def test_an_unknown_complaint_is_still_the_reason() -> None:
    lines = ["hello", "KeyError: 'rope'", "goodbye"]

    facts = read_boot(GENERIC, lines)

    assert (facts.reason, facts.remedy) == ("KeyError: 'rope'", "")


def test_a_log_without_complaint_ends_with_its_last_line() -> None:
    assert read_boot(GENERIC, ["one", "two", ""]).reason == "two"


@pytest.mark.parametrize(
    ("engine", "line", "name"),
    [
        ("llama-server", "error: invalid argument: --bogus", "flag-unknown"),
        ("llama-server", "gguf_init_from_reader: failed to read key-value pairs", "file-truncated"),
        ("llama-server", "gguf_init: invalid magic characters: 'vers'", "not-a-gguf"),
        ("llama-server", "x: cudaMalloc failed: out of memory", "gpu-memory"),
        ("llama-server", "unknown model architecture: 'qwen9'", "architecture-unknown"),
        ("llama-server", "illegal split file idx: 1 (file: X)", "split-name"),
        ("vllm", "ValueError: Free memory on device cuda:0 (1/24 GiB) on startup is less than "
                 "desired GPU memory utilization (0.92, 22 GiB).", "gpu-occupied"),
        ("vllm", "OSError: [Errno 98] Address already in use", "port-in-use"),
        ("vllm", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "gpu-memory"),
        ("generic", "x: error while loading shared libraries: libfoo.so.1: cannot open",
         "library-missing"),
        ("generic", "OSError: [Errno 28] No space left on device", "disk-full"),
    ],
)  # fmt: skip
def test_known_failures_carry_a_remedy(engine: str, line: str, name: str) -> None:
    facts = read_boot(ENGINES[engine], [line])

    assert facts.signature and facts.signature.id == name
    assert facts.remedy


@given(st.sampled_from(sorted(ENGINES)), st.lists(st.text(), max_size=5))
def test_any_log_is_read(name: str, lines: list[str]) -> None:
    facts = read_boot(ENGINES[name], lines)

    assert facts.reason or not any(line.strip() for line in lines)


def test_the_first_port_stands() -> None:
    facts = BootFacts()

    for port in (1, 2):
        facts = read_line(facts, LLAMA_SERVER, f"listening on http://127.0.0.1:{port}")

    assert facts.port == 1


def test_names_of_failures_are_unique_in_each_family() -> None:
    for engine in ENGINES.values():
        names = [signature.id for signature in engine.signatures]
        assert len(names) == len(set(names)), engine.name
