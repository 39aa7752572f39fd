"""The log of a boot, in each engine's words, becomes what it measured; any bytes are survived."""

from __future__ import annotations

import random

import pytest

from meshctl.budget.boot import LONGEST_LINE, READERS, boot_of_any, boot_of_log, cause_of_log
from meshctl.state.boot import Boot
from tests.unit.budget.boot_logs import LLAMA, LLAMA_QUIET, VLLM_010, VLLM_033, VLLM_06, as_json

GIB, MIB = 2**30, 2**20


def vllm(log: str, model: str = "") -> Boot:
    return boot_of_log("vllm", log.splitlines(), model)


def llama(log: str, model: str = "") -> Boot:
    return boot_of_log("llama-server", log.splitlines(), model)


@pytest.mark.parametrize(("log", "version"), [(VLLM_033, "0.33.0"), (VLLM_010, "0.10.0")])
def test_vllm_of_one_line_or_of_two_says_the_same(log: str, version: str) -> None:
    found = vllm(log)

    assert (found.version, found.ready, found.context) == (version, True, 8192)
    assert found.weights_bytes == round(14.99 * GIB)
    assert found.available_kv_bytes == round(3.29 * GIB)
    assert (found.kv_tokens, found.max_concurrency) == (26_944, 3.29)
    assert found.graphs_bytes == round(0.52 * GIB)
    assert found.shrunk_from is None


def test_vllm_of_2024_counts_blocks_and_calls_gib_gb() -> None:
    found = vllm(VLLM_06)

    assert (found.version, found.num_blocks, found.context) == ("0.6.4", 1952, 8192)
    assert found.weights_bytes == round(14.9888 * GIB)
    assert found.available_kv_bytes == round(3.81 * GIB)


def test_of_several_workers_the_least_room_and_the_heaviest_weights_count() -> None:
    more = "Model loading took 15.50 GiB memory and 1 seconds\nAvailable KV cache memory: 3.01 GiB"

    found = vllm(VLLM_033.replace("(APIServer pid=1) INFO:", f"{more}\nINFO:"))

    assert found.weights_bytes == round(15.5 * GIB)
    assert found.available_kv_bytes == round(3.01 * GIB)


def test_a_context_that_vllm_reduced_is_told_with_what_it_was() -> None:
    fit = "Auto-fit max_model_len: reduced from 131072 to 26944 tokens to fit in GPU memory"

    found = vllm(f"{fit}\nApplication startup complete.")

    assert (found.shrunk_from, found.context) == (131_072, 26_944)


def test_room_below_nothing_is_no_size_to_learn_from() -> None:
    found = vllm("Available KV cache memory: -1.20 GiB")

    assert found.available_kv_bytes == -round(1.2 * GIB)
    assert not found.said_sizes and found.said_anything


def test_a_plan_that_vllm_kept_says_its_room_in_bytes() -> None:
    found = vllm("Applying persisted startup plan (fingerprint ab): kv_cache_memory_bytes=3532"
                 "611584. Memory profiling will be skipped.")  # fmt: skip

    assert found.available_kv_bytes == 3_532_611_584


def test_llama_server_says_its_buffers_and_which_of_them_are_on_the_card() -> None:
    found = llama(LLAMA)

    assert (found.version, found.ready, found.sequences) == ("11434", True, 2)
    assert (found.context, found.layers_on_card, found.layers) == (4096, 33, 33)
    assert found.of("weights", shared=False) == 7660 * MIB
    assert found.of("weights", shared=True) == 7660 * MIB + round(532.31 * MIB)
    assert found.of("caches", shared=False) == 1024 * MIB
    assert found.of("compute", shared=False) == round(258.5 * MIB)
    assert found.of("state", shared=False) == 0
    (cache,) = found.caches
    assert (cache.cells, cache.layers, cache.streams) == (4096, 32, 2)


def test_json_lines_say_the_same_as_plain_ones() -> None:
    plain = LLAMA.replace("0.00.018.112 I cmn  common_param: ", "0.00.018.112 I ")

    assert llama(as_json(plain)) == llama(LLAMA)


def test_without_lv_4_only_the_context_is_known() -> None:
    found = llama(LLAMA_QUIET)

    assert (found.context, found.ready, found.said_sizes) == (4096, True, False)
    assert found.of("weights", shared=False) is None


def test_the_attempt_that_fits_settings_into_memory_is_not_counted() -> None:
    head, buffers = LLAMA.split("0.00.037.216", 1)
    fitted = (
        "0.1 I common_params_fit_impl: context size reduced from 131072 to 8192 -> need 1 MiB\n"
        "0.1 I common_fit_params: successfully fit params to free device memory\n"
    )

    found = llama(f"{head}0.00.037.216{buffers.split('0.03')[0]}{fitted}0.00.037.216{buffers}")

    assert found.of("caches", shared=False) == 1024 * MIB
    assert found.shrunk_from == 131_072


@pytest.mark.parametrize("engine", READERS)
def test_of_several_boots_the_last_counts(engine: str) -> None:
    first, last = (VLLM_033, VLLM_033.replace("3.29 GiB", "2.50 GiB")) if engine == "vllm" else (
        LLAMA, LLAMA.replace("1024.00", "2048.00"))  # fmt: skip

    found = boot_of_log(engine, (first + last).splitlines())

    assert found == boot_of_log(engine, last.splitlines())
    assert found != boot_of_log(engine, first.splitlines())


def test_of_a_mesh_only_the_lines_of_the_model_count() -> None:
    other = LLAMA.replace("1024.00", "9999.00")
    lines = [f"[one] {line}" for line in LLAMA.splitlines()]
    lines += [f"[two] {line}" for line in other.splitlines()]
    lines.append("mesh: two is ready")

    assert llama("\n".join(lines), "one") == llama(LLAMA)
    assert llama("\n".join(lines), "two") == llama(other)


def test_the_engine_is_known_by_its_words() -> None:
    found = [boot_of_any(log.splitlines()) for log in (VLLM_010, LLAMA, "hello\nworld")]

    assert [each and each[0] for each in found] == ["vllm", "llama-server", None]


def test_the_reason_of_a_boot_that_failed_is_in_its_familys_words() -> None:
    log = "ValueError: No available memory for the cache blocks. Try increasing it."

    assert "No available memory" in cause_of_log("vllm", [log]).cause


HOSTILE = {
    "numbers that no machine has": "Model loading took 999999999999 GiB memory and 1 seconds\n"
    "GPU KV cache size: 99999999999999999999 tokens\n"
    "load_tensors: CUDA0 model buffer size = 999999999999.00 MiB\n"
    "srv load_model: initializing, n_slots = 99999999999999999999, n_ctx_slot = 1",
    "a line without end": "CUDA0 model buffer size = " + "9" * 1_000_000,
    "json without end": '{"msg":' * 100_000,
    "json of something else": '{"msg": 5}\n{"msg": {"a": 1}}\n[1]\n{}',
    "too many buffers": "llama_kv_cache: CUDA0 KV buffer size = 1.00 MiB\n" * 5000,
    "names without end": "x" * 100_000 + " KV buffer size = 1.00 MiB",
    "half a number": "Available KV cache memory: . GiB\nGPU KV cache size: , tokens",
    "control characters": "\x00\x1b[31mModel loading took \x00 GiB\u2028memory",
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("engine", READERS)
def test_hostile_lines_are_survived_and_bounded(engine: str, case: str) -> None:
    found = boot_of_log(engine, HOSTILE[case].splitlines())

    assert len(found.model_dump_json()) < 100_000
    assert Boot.model_validate(found.model_dump()) == found


@pytest.mark.parametrize("engine", READERS)
def test_any_bytes_are_survived(engine: str) -> None:
    source = random.Random(8)
    words = (VLLM_033 + LLAMA).encode()
    for _ in range(50):
        noise = bytearray(words)
        for _ in range(200):
            noise[source.randrange(len(noise))] = source.randrange(256)
        found = boot_of_log(engine, noise.decode("utf-8", "replace").splitlines())

        assert Boot.model_validate(found.model_dump()) == found


def test_what_stands_behind_the_longest_line_is_not_read() -> None:
    line = "x" * LONGEST_LINE + " Available KV cache memory: 3.29 GiB"

    assert not vllm(line).said_anything
