"""What a command line says of the serving shape; what nobody knows is named and never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshctl.budget.flags import SERVING, Asked, asked_of
from meshctl.engines.known import ENGINES
from meshctl.spec.load import load

CONFIGS = Path(__file__).parents[3] / "configs"


def llama(*argv: str, layers: int = 0, **env: str) -> Asked:
    return asked_of(SERVING["llama-server"], argv, env, layers)


def vllm(*argv: str) -> Asked:
    return asked_of(SERVING["vllm"], argv, {})


def test_the_home_fleets_own_command_lines_are_understood() -> None:
    fleet = load((CONFIGS / "home-fleet.yaml").read_text(), "home-fleet.yaml", {})

    primary = vllm(*fleet.services["frank-primary"].args)
    small = llama(*fleet.services["frank-small"].args)

    assert primary.settings == {
        "tp": "2", "context": "262144", "sequences": "3", "batched_tokens": "2048",
        "kv_dtype": "fp8", "kv_memory_bytes": "6100000000", "utilisation": "0.98",
        "prefix_caching": "true", "spec_tokens": "4",
    }  # fmt: skip
    assert primary.lightened == ("--enable-expert-offload keeps experts in host memory",)
    assert small.settings == {"context": "32768", "sequences": "2"}
    assert (primary.unread, small.unread, primary.wrong, small.wrong) == ((), (), (), ())


def test_an_unknown_flag_is_named_and_its_value_taken_for_no_other_flag() -> None:
    found = llama("--frobnicate", "7", "-c", "4096", "--wobble")

    assert found.unread == ("--frobnicate", "--wobble")
    assert found.settings == {"context": "4096"}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("16k", "16000"), ("16K", "16384"), ("1.5k", "1500"), ("2m", "2000000"), ("262144", "262144")],
)
def test_vllm_takes_numbers_as_people_write_them(text: str, tokens: str) -> None:
    assert vllm("--max-model-len", text).settings == {"context": tokens}


@pytest.mark.parametrize(
    "argv",
    [
        ["-c", "lots"],
        ["-ctk", "q9_9"],
        ["-fa", "perhaps"],
        ["-np"],
        ["-c", "1" * 30],
    ],
)
def test_a_value_that_cannot_be_read_is_told_and_not_left_out(argv: list[str]) -> None:
    found = llama(*argv)

    assert [text.split()[0] for text in found.wrong] == [argv[0]]
    assert found.settings == {}


def test_a_value_in_json_is_looked_for_inside() -> None:
    config = '{"method": "mtp", "num_speculative_tokens": 4}'

    assert vllm("--speculative-config", config).settings == {"spec_tokens": "4"}
    assert vllm("--speculative-config", "{").wrong == ("--speculative-config {",)
    assert vllm("--speculative-config", "[1]").wrong != ()


def test_spellings_with_and_without_an_equals_sign_or_underscores_are_one() -> None:
    shapes = [vllm("--max-num-seqs=8"), vllm("--max_num_seqs", "8"), vllm("--max-num-seqs", "8")]

    assert [shape.settings for shape in shapes] == [{"sequences": "8"}] * 3


def test_a_later_flag_goes_before_an_earlier_one_and_both_before_a_variable() -> None:
    found = llama("-c", "1024", "-c", "2048", LLAMA_ARG_CTX_SIZE="512", LLAMA_ARG_UBATCH="256")

    assert found.settings == {"context": "2048", "ubatch": "256"}
    assert found.written["ubatch"] == "LLAMA_ARG_UBATCH 256"


def test_switches_say_yes_and_no_as_flags_and_as_variables() -> None:
    assert llama("-kvu").settings == {"kv_unified": "true"}
    assert llama("--no-kv-unified", "-c", "9").settings == {"kv_unified": "false", "context": "9"}
    assert llama("-c", "9", LLAMA_ARG_KV_UNIFIED="true").settings["kv_unified"] == "true"
    assert llama("-c", "9", LLAMA_ARG_SWA_FULL="maybe").wrong == ("LLAMA_ARG_SWA_FULL=maybe",)
    assert llama("-c", "9", LLAMA_ARG_NEW="1", LLAMA_ARG_PORT="80").unread == ("LLAMA_ARG_NEW",)


def test_a_context_that_nobody_wrote_may_be_shortened_by_the_engine() -> None:
    assert llama("-m", "x.gguf").shrinks
    assert llama("-c", "0").shrinks
    assert not llama("-c", "4096").shrinks
    assert not llama("-fit", "off").shrinks
    assert vllm("--max-model-len", "auto").shrinks
    assert not vllm("--max-model-len", "4096").shrinks


@pytest.mark.parametrize(
    ("argv", "lightened"),
    [
        (["-ngl", "20"], True),
        (["-ngl", "33"], False),
        (["-ngl", "99"], False),
        (["-ngl", "all"], False),
        (["-sm", "layer"], False),
        (["-sm", "row"], True),
        (["--cpu-moe"], True),
        (["-nkvo"], True),
    ],
)
def test_what_leaves_the_card_makes_a_need_smaller(argv: list[str], lightened: bool) -> None:
    """Of a model with 32 layers; the output layer is the 33rd."""
    assert bool(llama("-c", "1", *argv, layers=32).lightened) is lightened


def test_what_comes_on_top_is_told() -> None:
    assert llama("-md", "draft.gguf").burdened == ("-md loads a second model",)
    assert vllm("--enable-lora").burdened == ("--enable-lora keeps adapters on the device",)


@pytest.mark.parametrize("engine", SERVING)
def test_the_flags_that_the_mesh_itself_writes_are_known(engine: str) -> None:
    flags = ENGINES[engine].flags
    assert flags is not None
    written = [flags.context, "4096", flags.parallel, "2", flags.port, "80", flags.names, "a"]
    written += list(ENGINES[engine].arguments)

    found = asked_of(SERVING[engine], [word for word in written if word], {})

    assert found.unread == ()
    assert found.settings == {"context": "4096", "sequences": "2"}
