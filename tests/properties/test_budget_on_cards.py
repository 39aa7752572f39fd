"""A model on a card, whatever header, flags and neighbours it has: an answer, and no better one
for having less."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.budget.answer import Question, answer, longest_of_model, parts_of
from meshctl.budget.card import Card
from meshctl.budget.flags import SERVING, asked_of
from meshctl.budget.on_card import Wanted, budget_on
from meshctl.budget.settings import Neighbour
from meshctl.budget.tenants import Tenant
from meshctl.budget.weights import Weights

GIB = 2**30
ORDER = ["no", "unknown", "tight", "fits"]
KEYS = {
    "general.architecture": "llama", "llama.block_count": "32", "llama.embedding_length": "4096",
    "llama.attention.head_count": "32", "llama.attention.head_count_kv": "8",
    "llama.context_length": "131072", "llama.vocab_size": "128256",
}  # fmt: skip
CARD = Card("L4", 1, 22 * GIB, "measured", "test")
sizes = st.integers(0, 40 * GIB)
layers = st.lists(st.integers(0, GIB), max_size=100).map(tuple)


@st.composite
def weights(draw: st.DrawFn) -> Weights:
    each = draw(layers)
    rest, left_out, whole = draw(sizes), draw(st.integers(0, GIB)), draw(st.integers(0, GIB))
    total = sum(each) + rest + left_out + whole
    return Weights("gguf", KEYS, total, left_out, each, whole)


@settings(max_examples=200, deadline=None)
@given(weights(), st.integers(1, 16), st.booleans())
def test_more_cards_never_raise_the_weights_of_one(of: Weights, cards: int, shared: bool) -> None:
    llama = [of.on_llama(count, host_is_device=shared) for count in (cards, cards + 1)]
    vllm = [of.on_vllm(count) for count in (cards, cards + 1)]

    assert llama[0] >= llama[1] > 0 or of.bytes == of.input_bytes
    assert vllm[0] >= vllm[1]
    assert vllm[0] * cards >= of.bytes - of.whole_bytes
    assert max(llama[0], vllm[0]) <= of.bytes


tenants = st.builds(
    lambda size, context, slots: Tenant(
        "m", "llama-server",
        asked_of(SERVING["llama-server"], ["-c", str(context * slots), "-np", str(slots)], {}),
        Weights("gguf", KEYS, size),
    ),
    st.integers(GIB, 24 * GIB), st.integers(256, 131_072), st.integers(1, 8),
)  # fmt: skip
neighbours = st.builds(
    lambda low, more: Neighbour("n", low, low + more, "test"), sizes, st.integers(0, 4 * GIB)
)


@settings(max_examples=100, deadline=None)
@given(tenants, st.lists(neighbours, max_size=3), neighbours)
def test_a_further_neighbour_never_makes_it_better(
    of: Tenant, some: list[Neighbour], more: Neighbour
) -> None:
    fewer, crowd = budget_on(of, CARD, some), budget_on(of, CARD, [*some, more])

    assert ORDER.index(crowd.verdict) <= ORDER.index(fewer.verdict)
    assert (crowd.margin_bytes or 0) <= (fewer.margin_bytes or 0)


@settings(max_examples=20, deadline=None)
@given(tenants)
def test_more_requests_at_once_never_leave_more_room_for_each(of: Tenant) -> None:
    found = [row.tight or 0 for row in answer("s", [of], CARD).contexts]

    assert found == sorted(found, reverse=True)


@settings(max_examples=20, deadline=None)
@given(tenants)
def test_every_way_that_is_said_to_fit_fits(of: Tenant) -> None:
    found = answer("s", [of], CARD)

    for way in found.relief.ways:
        assert budget_on(of, CARD, (), Wanted(way.changes)).verdict == way.verdict
    if found.relief.lighter_bytes is not None:
        light = Wanted({"weights_bytes": found.relief.lighter_bytes})
        assert budget_on(of, CARD, (), light).verdict == "fits"


WORDS = st.one_of(
    st.sampled_from(
        ["-c", "-np", "-ngl", "-ctk", "-fa", "--speculative-config", "--max-model-len=",
         "--max-model-len", "-tp", "--lora", "-", "--", "=", "-1", "8192", "q8_0", "99999999999999"]
    ),
    st.text(max_size=12),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(SERVING)), st.lists(WORDS, max_size=8))
def test_any_command_line_is_read_and_answered(engine: str, argv: list[str]) -> None:
    asked = asked_of(SERVING[engine], argv, {}, 32)

    (part,) = parts_of([Tenant("m", engine, asked, Weights("gguf", KEYS, GIB))], CARD)

    assert part.budget.verdict in ORDER


VALUES = st.one_of(
    st.text(max_size=8),
    st.lists(st.text(max_size=4), max_size=4),
    st.integers(0, 2**40).map(str),
    st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
)
NAMES = st.sampled_from([*KEYS, "llama.attention.key_length", "llama.context_length",
                         "llama.attention.sliding_window", "num_hidden_layers"])  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(NAMES, VALUES), st.sampled_from(["gguf", "safetensors"]),
       st.sampled_from(sorted(SERVING)), st.integers(0, 2**60))  # fmt: skip
def test_any_header_is_answered(keys: dict[str, Any], form: Any, engine: str, size: int) -> None:
    of = Tenant("m", engine, weights=Weights(form, KEYS | keys, size))

    found = answer("s", [of], CARD, question=Question(4096, 2))

    assert found.budget.verdict in ORDER
    assert longest_of_model(of) is None or longest_of_model(of)
