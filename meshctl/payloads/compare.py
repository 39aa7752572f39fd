"""Compares two models by their headers, and says which differences matter to an engine. Pure.

The rules are those of llama.cpp and its kin: tensors are found by name, each tells its own type,
and `general.file_type` is a label. What is not known to be harmless counts as mattering.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from meshctl.payloads.header import Header, Tensor, drafts
from meshctl.payloads.split import Part

Verdict = Literal["drop-in", "same-model", "different"]
Weight = Literal["none", "matters", "different"]
"""What a difference does: nothing, something, or make it another model."""
TEMPLATE = "tokenizer.chat_template"
_SHOWN = 60
_VOCABULARY = tuple(f"tokenizer.ggml.{key}" for key in (
    "model", "pre", "tokens", "scores", "token_type", "merges"))  # fmt: skip
_HARMLESS = {
    "general.file_type": "a label: engines go by the type of each tensor",
    "general.alignment": "only where the bytes of a tensor begin",
    "general.type": "a description",
}
_HARMLESS_BEGINNINGS = {
    "quantize.": "how it was made, not what it is",
    "split.": "said by the number of files",
    "__metadata__.": "a note of whoever saved it",
    "transformers_version": "which library saved it",
    "_name_or_path": "where it was trained",
}
_RUNTIME = ("context_length", "max_position_embeddings")
_OF_DESCRIPTION = (
    "name", "author", "version", "organization", "finetune", "basename", "description",
    "quantized_by", "size_label", "license", "url", "doi", "uuid", "repo_url", "source",
    "base_model", "dataset", "tags", "languages", "datasets",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same; `a` and `b` are None where it is absent."""

    path: str
    a: str | None
    b: str | None
    weight: Weight
    why: str


@dataclass(frozen=True)
class Side:
    """One of the two: its header, and how it is cut into files."""

    header: Header
    bytes: int | None
    part: Part | None


def compare(a: Side, b: Side) -> tuple[Verdict, tuple[Difference, ...]]:
    """What is different, what matters first."""
    found = [*_form(a, b), *_tensors(a, b), *_metadata(a.header, b.header)]
    weights = {difference.weight for difference in found}
    verdict: Verdict = (
        "different" if "different" in weights else "same-model" if "matters" in weights
        else "drop-in"
    )  # fmt: skip
    order = ("different", "matters", "none")
    return verdict, tuple(sorted(found, key=lambda one: order.index(one.weight)))


def _form(a: Side, b: Side) -> Iterator[Difference]:
    one, other = a.header, b.header
    yield from _differ("format", one.format, other.format, "different", "another kind of file")
    yield from _differ("architecture", one.architecture, other.architecture, "different",
                       "another model: other code runs it")  # fmt: skip
    yield from _differ("byte_order", one.byte_order, other.byte_order, "matters",
                       "engines read the byte order of their machine only")  # fmt: skip
    yield from _differ("files", _files(a.part), _files(b.part), "matters",
                       "other files to place; the engine is given the first")  # fmt: skip
    yield from _differ("draft_head", _yes(one.draft_head), _yes(other.draft_head), "matters",
                       "without it nothing is drafted: slower, the same answers")  # fmt: skip
    yield from _differ("bytes", _count(a.bytes), _count(b.bytes), "none",
                       "follows from the other differences")  # fmt: skip


def _tensors(a: Side, b: Side) -> Iterator[Difference]:
    one, other = _by_name(a.header), _by_name(b.header)
    yield from _names(one, other)
    both = [name for name in one if name in other]
    if both != [name for name in other if name in one]:
        yield Difference("tensors.order", "its own", "another", "none",
                         "engines find tensors by name")  # fmt: skip
    shapes = [name for name in both if _dims(one[name]) != _dims(other[name])]
    if shapes:
        first = shapes[0]
        yield Difference(
            "tensors.dims",
            f"{first} {list(one[first].dims)}",
            f"{first} {list(other[first].dims)}",
            "different",
            f"{len(shapes)} tensors have another shape",
        )
    types = [name for name in both if one[name].type != other[name].type]
    if types:
        yield Difference(
            "tensors.types", _types(one, types), _types(other, types), "matters",
            f"{len(types)} tensors are quantised otherwise: other memory, speed and answers",
        )  # fmt: skip


def _names(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> Iterator[Difference]:
    only_a = [name for name in one if name not in other and not drafts(name)]
    only_b = [name for name in other if name not in one and not drafts(name)]
    if only_a or only_b:
        yield Difference("tensors.names", _some(only_a), _some(only_b), "different",
                         "a tensor that only one of them has")  # fmt: skip


def _metadata(a: Header, b: Header) -> Iterator[Difference]:
    known = {*a.metadata, *a.digests, *b.metadata, *b.digests}
    for key in sorted(known - {"general.architecture", "model_type"}):
        one, other = _said(a, key), _said(b, key)
        if one != other:
            weight, why = _weigh(key, a, b)
            yield Difference(key, _cut(one), _cut(other), weight, why)


def _weigh(key: str, a: Header, b: Header) -> tuple[Weight, str]:
    """What a difference in this key of the metadata does, and why."""
    if key in _HARMLESS:
        return "none", _HARMLESS[key]
    if key.startswith("general.") and key.split(".")[1] in _OF_DESCRIPTION:
        return "none", "a description"
    for beginning, why in _HARMLESS_BEGINNINGS.items():
        if key.startswith(beginning):
            return "none", why
    if key.startswith(TEMPLATE):
        return "matters", "prompts are built from it: other answers"
    if key in _VOCABULARY:
        return "different", "the same text becomes other tokens"
    if key.startswith("tokenizer."):
        return "matters", "how text becomes tokens, or where an answer ends"
    return _weigh_hyperparameter(key, a, b)


def _weigh_hyperparameter(key: str, a: Header, b: Header) -> tuple[Weight, str]:
    own = f"{a.architecture}."
    if key == f"{own}attention.recurrent_layers" and _interval(a) == _interval(b) is not None:
        return "none", "the kinds of layers follow from full_attention_interval, which both have"
    if key.rpartition(".")[2] in _RUNTIME:
        return "matters", "how long a context it takes"
    if key.startswith(own) and _said(a, key) is not None and _said(b, key) is not None:
        return "different", "a number that the computation is made of"
    return "matters", "not known to be harmless: an engine may read it"


def _interval(header: Header) -> int | None:
    return header.of("full_attention_interval")


def _differ(
    path: str, a: str | None, b: str | None, weight: Weight, why: str
) -> Iterator[Difference]:
    if a != b:
        yield Difference(path, a, b, weight, why)


def _said(header: Header, key: str) -> str | None:
    """A value as text: what is long, by its digest."""
    value = header.metadata.get(key)
    if key in header.digests and (value is None or isinstance(value, tuple)):
        return f"sha256:{header.digests[key]}"
    return None if value is None else str(value)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= _SHOWN or text.startswith("sha256:"):
        return text
    return f"{text[:_SHOWN]}… ({len(text):,} characters)"


def _by_name(header: Header) -> dict[str, Tensor]:
    return {tensor.name: tensor for tensor in header.tensors}


def _dims(tensor: Tensor) -> tuple[int, ...]:
    """Without the ones at the end, which some writers leave out."""
    dims = tensor.dims
    while dims and dims[-1] == 1:
        dims = dims[:-1]
    return dims


def _types(tensors: Mapping[str, Tensor], names: list[str]) -> str:
    counts = Counter(tensors[name].type for name in names)
    return ", ".join(f"{count} {type_}" for type_, count in counts.most_common(4))


def _some(names: list[str]) -> str | None:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}" if names else None


def _files(part: Part | None) -> str:
    return str(part.count) if part else "1"


def _yes(draft_head: bool) -> str:
    return "yes" if draft_head else "no"


def _count(bytes_: int | None) -> str | None:
    return None if bytes_ is None else f"{bytes_:,}"
