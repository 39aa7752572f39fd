"""Tiny models that can do nothing but count, each in words of its own: real engines run them.

Whoever reads an answer knows which model gave it, and whether a word is missing or doubled. Word k
is a vector with a one at k, the output matrix leads from k to k + 1, and all between is zero.
"""

from __future__ import annotations

from pathlib import Path

WORDS = 240
"""As far as a model counts; then it stops."""
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}<go>"
_WIDTH = 256
_SPECIALS = ("<unk>", "<s>", "</s>", "<go>")
_BYTES = tuple(f"<0x{number:02X}>" for number in range(256))
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6


def counted(name: str, words: int = WORDS) -> str:
    """What the model of that name says, up to that many words."""
    return "".join(f" {word}" for word in words_of(name)[:words])


def words_of(name: str) -> tuple[str, ...]:
    """name0, name1, ..."""
    return tuple(f"{name}{number}" for number in range(WORDS))


def write_model(path: Path, name: str) -> None:
    """A GGUF file of the llama architecture, of 2 MB."""
    import gguf

    tokens = [*_SPECIALS, *_BYTES, *(f"▁{word}" for word in words_of(name))]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    _shape(writer)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, _CONTROL, *[_BYTE] * 256, *[_NORMAL] * WORDS]
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    _tensors(writer, len(tokens))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _shape(writer) -> None:  # type: ignore[no-untyped-def]
    writer.add_context_length(4096)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_rope_dimension_count(_WIDTH // 4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(_SPECIALS) + len(_BYTES) + WORDS)


def _tensors(writer, count: int) -> None:  # type: ignore[no-untyped-def]
    import numpy

    def zeros(*shape: int) -> numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float32]]:
        return numpy.zeros(shape, dtype=numpy.float32)

    known, said = zeros(count, _WIDTH), zeros(count, _WIDTH)
    first = len(_SPECIALS) + len(_BYTES)
    known[:, _WIDTH - 1] = 1.0
    for place, token in enumerate((3, *range(first, count))):
        following = first + place if place < WORDS else 2
        known[token] = 0.0
        known[token, place] = said[following, place] = 1.0
    writer.add_tensor("token_embd.weight", known)
    writer.add_tensor("output.weight", said * 10)
    writer.add_tensor("output_norm.weight", zeros(_WIDTH) + 1)
    for norm in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{norm}.weight", zeros(_WIDTH) + 1)
    for matrix in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{matrix}.weight", zeros(_WIDTH, _WIDTH))
    for matrix, shape in (("gate", (32, _WIDTH)), ("up", (32, _WIDTH)), ("down", (_WIDTH, 32))):
        writer.add_tensor(f"blk.0.ffn_{matrix}.weight", zeros(*shape))
