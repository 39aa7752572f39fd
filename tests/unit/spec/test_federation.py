"""Both forms of MESH_FEDERATION_PEERS say the same, and a mistake names its entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.errors import SpecError
from meshctl.spec.federation import PeerEntry, parse_peers, render_peers, render_peers_compact

peers = st.builds(
    lambda **values: PeerEntry(**values),
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    base_url=st.from_regex(
        r"https?://[a-z0-9.-]{1,20}(:[1-9][0-9]{0,3})?(/[a-z]{1,5})?", fullmatch=True
    ),
    models=st.lists(
        st.just("*") | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:/@~-]{0,20}", fullmatch=True),
        min_size=1,
        max_size=3,
    ).map(tuple),
    priority=st.integers(0, 10**9 - 1),
    weight=st.integers(1, 10**9 - 1),
)
documents = st.lists(peers, max_size=3, unique_by=lambda peer: peer.id).map(tuple)


@given(documents)
def test_both_forms_are_read_back_as_they_were_written(entries: tuple[PeerEntry, ...]) -> None:
    assert parse_peers(render_peers(entries)) == entries
    assert parse_peers(render_peers_compact(entries)) == entries


@given(st.text() | st.text("=|+,:/ab1*[{", max_size=30))
def test_any_text_is_peers_or_a_sentence(text: str) -> None:
    try:
        parse_peers(text)
    except SpecError as refused:
        assert refused.message and refused.place == "MESH_FEDERATION_PEERS"


def test_the_array_of_the_runbook_is_understood() -> None:
    text = """[{"id":"peer-a","baseUrl":"https://mesh-peer-a.run.app",
        "models":["qwen3-8b","qwen3-8b-q4k"], "priority":0,"weight":1}]"""

    (peer,) = parse_peers(text)

    assert peer == PeerEntry(
        id="peer-a",
        base_url="https://mesh-peer-a.run.app",
        models=("qwen3-8b", "qwen3-8b-q4k"),
        priority=0,
        weight=1,
    )


def test_the_array_may_say_how_many_tokens_a_model_takes() -> None:
    entry = PeerEntry(id="a", base_url="http://a", models=("m",), context={"m": 8192})

    written = render_peers((entry,))

    assert '"context":{"m":8192}' in written and parse_peers(written) == (entry,)
    assert "context" not in render_peers((entry.model_copy(update={"context": {}}),))
    for wrong in ('{"m": 0}', '{"m": "8"}', '{"a b": 8}'):
        with pytest.raises(SpecError, match="context"):
            parse_peers(written.replace('{"m":8192}', wrong))


def test_the_compact_form_is_the_same_peer() -> None:
    text = "peer-a=https://a.run.app|m1+m2|2|5, peer-b=http://127.0.0.1:9|*"

    first, second = parse_peers(text)

    assert (first.models, first.priority, first.weight) == (("m1", "m2"), 2, 5)
    assert (second.id, second.models, second.priority, second.weight) == ("peer-b", ("*",), 0, 1)


@pytest.mark.parametrize("text", ["", "  \n", "[]"])
def test_nothing_is_a_lone_node(text: str) -> None:
    assert parse_peers(text) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=http://a|m|0|1,b", "[1]: 'b' is not a peer"),
        ("a=http://a|m|0|1|9", "[0]: 'a=http://a|m|0|1|9' is not a peer"),
        ("a=http://a|m|x", "[0] a: priority: Input should be a valid integer, not 'x'"),
        ("a=http://a|m|0|0", "[0] a: weight: Input should be greater than or equal to 1, not 0"),
        ("a=ftp://a|m", "[0] a: baseUrl: String should match pattern"),
        ("a=http://u:p@a|m", "[0] a: baseUrl: String should match pattern"),
        ("a=http://a/|m", "[0] a: baseUrl: 'http://a/' must not end with a slash"),
        ("a=http://a|", "[0] a: models.0: String should match pattern"),
        ("a=http://a|m,a=http://b|n", "a: declared twice"),
        ('[{"id":"a","baseUrl":"http://a"}]', "[0] a: models: Field required"),
        ('[{"id":"a","baseUrl":"http://a","models":[]}]', "[0] a: models: Tuple should have"),
        ('[{"id":"a","base_url":"http://a","models":["m"]}]', "[0] a: baseUrl: Field required"),
        ('{"id":"a"}', "Input should be a valid array"),
    ],
)
def test_a_bad_peer_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_peers(text)

    assert message in refused.value.message
