"""What a header says of the weights, and which of them lie on one device."""

from __future__ import annotations

from typing import Any

from meshctl.budget.config import model_of_config
from meshctl.budget.gguf import model_of_gguf
from meshctl.budget.keys import Keys
from meshctl.budget.model import Model
from meshctl.budget.weights import Weights, weights_of
from meshctl.payloads.gguf import read_gguf
from meshctl.payloads.header import Header, Tensor
from meshctl.payloads.window import Window
from tests.fakes import model_files
from tests.fakes.memory_ranges import MemoryFile


def header(*tensors: Tensor, **metadata: Any) -> Header:
    return Header("safetensors", "llama", metadata, tensors, 0, None)


def of_gguf(**tensors: tuple[str, tuple[int, ...]]) -> Weights:
    named = {name.replace("__", "."): shape for name, shape in tensors.items()}
    data = model_files.gguf(model_files.LLAMA, named)
    found = weights_of(read_gguf(Window(MemoryFile(data))), len(data))
    assert found is not None
    return found


def test_embeddings_stay_in_host_memory_only_where_the_output_is_a_tensor_of_its_own() -> None:
    tied = of_gguf(token_embd__weight=("F32", (64, 100)))
    apart = of_gguf(token_embd__weight=("F32", (64, 100)), output__weight=("F32", (64, 100)))

    assert tied.on_llama(1, host_is_device=False) == 64 * 100 * 4
    assert apart.on_llama(1, host_is_device=False) == 64 * 100 * 4
    assert apart.on_llama(1, host_is_device=True) == 2 * 64 * 100 * 4


def test_of_several_cards_the_one_with_the_most_layers_is_told() -> None:
    layers = {f"blk__{n}__ffn_up__weight": ("F32", (64, size)) for n, size in enumerate((9, 1, 7))}
    found = of_gguf(output_norm__weight=("F32", (64,)), **layers)

    one, two, three = (found.on_llama(count, host_is_device=False) for count in (1, 2, 3))

    assert one == (1 + 9 + 1 + 7) * 256
    assert two == (1 + 9 + 7) * 256
    assert three == (1 + 9) * 256


def test_vllm_keeps_norms_routers_and_the_way_into_a_latent_on_every_card() -> None:
    found = weights_of(
        header(
            Tensor("model.layers.0.self_attn.q_proj.weight", "BF16", (100, 100), 20_000),
            Tensor("model.layers.0.input_layernorm.weight", "BF16", (100,), 200),
            Tensor("model.layers.0.mlp.gate.weight", "BF16", (8, 100), 1_600),
            Tensor("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "BF16", (10, 100), 2_000),
            Tensor("model.layers.0.mlp.gate_proj.weight", "BF16", (100, 100), 20_000),
        ),
        None,
    )

    assert found is not None
    assert found.whole_bytes == 3_800
    assert found.on_vllm(2) == 20_000 + 3_800


def test_without_the_sizes_of_its_tensors_the_files_tell() -> None:
    strange = header(Tensor("a", "type 99", (10, 10), None))

    assert weights_of(strange, None) is None
    found = weights_of(strange, 5000)
    assert found is not None
    assert found.bytes == 5000


def test_keys_of_a_config_are_put_back_below_one_another() -> None:
    found = weights_of(
        header(
            **{
                "__metadata__.format": "pt", "model_type": "qwen3_vl",
                "text_config.model_type": "llama", "text_config.num_hidden_layers": 4,
                "text_config.num_attention_heads": 4, "text_config.hidden_size": 256,
                "text_config.layer_types": ("full_attention",) * 4,
                "text_config.use_cache": True, "vision_config.depth": 1,
            }
        ),
        100,
    )  # fmt: skip
    assert found is not None

    model = model_of_config(Keys(found.keys, "config"))

    assert set(found.keys) == {"model_type", "text_config", "vision_config"}
    assert isinstance(model, Model)
    assert (len(model.parts), model.heavy) == (4, True)


def test_a_key_that_is_a_number_and_a_folder_at_once_breaks_nothing() -> None:
    found = weights_of(header(**{"a": 1, "a.b": 2, "a.b.c": 3, "d.e": 4, "d": 5}), 1)

    assert found is not None
    assert found.keys == {"a": "1", "d": {"e": "4"}}


def test_the_words_of_a_vocabulary_are_counted_where_no_key_says_how_many() -> None:
    found = of_gguf(token_embd__weight=("F32", (64, 100)))

    assert found.keys["llama.vocab_size"] == "100"
    assert not [key for key in found.keys if key.startswith("tokenizer.")]
    keys = {**found.keys, "llama.attention.head_count": "2", "llama.embedding_length": "64"}
    model = model_of_gguf(Keys(keys, "gguf"))
    assert isinstance(model, Model)
    assert model.vocab == 100
