"""What a mesh reads in MESH_MODELS is what the fleet declared, and nothing hostile gets through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.errors import SpecError
from meshctl.spec.model import Fleet
from meshctl.spec.registry import (
    FileEntry,
    ModelEntry,
    default_model_of,
    parse_models,
    registry_of,
    render_models,
)

SHA = "ab" * 32
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:/@~-]{0,20}", fullmatch=True)
plain = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
files = st.builds(
    FileEntry,
    path=st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?\.gguf", fullmatch=True),
    bytes=st.integers(1, 2**50),
    sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
)


@st.composite
def registries(draw: st.DrawFn) -> tuple[ModelEntry, ...]:
    words = iter(draw(st.lists(names, min_size=8, max_size=8, unique=True)))
    default = draw(st.sampled_from((None, 0, 1)))
    return tuple(
        ModelEntry(
            id=next(words),
            aliases=tuple(next(words) for _ in range(draw(st.integers(0, 2)))),
            engine=draw(st.sampled_from(("llama-server", "vllm", "generic"))),
            command=draw(st.lists(plain, max_size=3).map(tuple)),
            payload=draw(st.none() | st.just("mistral-7b")),
            files=draw(st.lists(files, max_size=2).map(tuple)),
            context=draw(st.none() | st.integers(1, 2**20)),
            parallel=draw(st.integers(1, 256)),
            group=draw(st.sampled_from(("gpu", "cpu"))),
            sets=draw(st.sampled_from(((), ("day",), ("day", "night")))),
            ttl=draw(st.sampled_from((None, 0.25, 90.0, 3600.0))),
            load_timeout=draw(st.sampled_from((None, 600.0))),
            stop_grace=draw(st.sampled_from((10.0, 1.5))),
            env=draw(st.dictionaries(st.sampled_from(("A", "B_1")), plain)),
            capabilities=draw(st.frozensets(st.sampled_from(("tools", "vision", "json")))),
            default=index == default,
        )
        for index in range(draw(st.integers(0, 2)))
    )


def fleet(**models: dict[str, object]) -> Fleet:
    payload = {"source": "file:x", "files": {"b.gguf": {"bytes": 7, "sha256": SHA}}}
    payload["files"]["a.gguf"] = {"bytes": 5, "sha256": SHA}  # type: ignore[index]
    service = {"target": "here", "image": "mesh", "models": models}
    return Fleet.model_validate(
        {
            "meshctl": 1,
            "fleet": "f",
            "targets": {"here": {"kind": "cloudrun", "project": "local", "region": "r1"}},
            "payloads": {"weights": payload},
            "services": {"chat": service},
        }
    )


@given(registries())
def test_what_is_rendered_is_read_back(entries: tuple[ModelEntry, ...]) -> None:
    text = render_models(entries)

    again = parse_models(text)

    assert again == entries
    assert render_models(again) == text


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_entries_or_a_sentence(text: str) -> None:
    try:
        parse_models(text)
    except SpecError as refused:
        assert refused.message and refused.place == "MESH_MODELS"


def test_equal_registries_give_equal_bytes() -> None:
    one = ModelEntry(id="m", env={"A": "1", "B": "2"}, capabilities=frozenset({"tools", "json"}))
    other = ModelEntry(id="m", env={"B": "2", "A": "1"}, capabilities=frozenset({"json", "tools"}))

    text = render_models((one,))

    assert text == render_models((other,))
    assert text == '[{"capabilities":["json","tools"],"env":{"A":"1","B":"2"},"id":"m"}]'


def test_a_key_with_its_default_does_not_change_the_text_of_old_releases() -> None:
    plain = ModelEntry(id="m")
    spelled = ModelEntry(id="m", group="gpu", pinned=False, stop_grace=10.0)

    assert render_models((plain,)) == render_models((spelled,)) == '[{"id":"m"}]'


def test_how_a_model_takes_turns_is_written_as_the_fleet_says_it() -> None:
    turns = {"group": "second", "sets": ["small"], "ttl": "30m", "stop_grace": "1500ms"}

    here = fleet(m=turns | {"load_timeout": "1h"})
    text = render_models(registry_of(here, here.services["chat"]))

    assert json.loads(text) == [
        {"id": "m", "default": True, "group": "second", "sets": ["small"]}
        | {"ttl": "30m", "load_timeout": "1h", "stop_grace": "1.5s"}
    ]


def test_the_registry_of_a_service_carries_the_digest_of_every_payload_file() -> None:
    here = fleet(small={"payload": "weights", "capabilities": ["tools"], "aliases": ["tiny"]})

    (entry,) = registry_of(here, here.services["chat"])

    assert [(file.path, file.bytes, file.sha256) for file in entry.files] == [
        ("a.gguf", 5, SHA),
        ("b.gguf", 7, SHA),
    ]
    assert entry.default and entry.names == ("small", "tiny")
    assert entry.capabilities == {"tools"}


def test_nobody_chooses_a_default_among_several_models() -> None:
    one, two = fleet(a={}), fleet(a={}, b={})

    defaults = [default_model_of(here.services["chat"]) for here in (one, two)]

    assert defaults == ["a", None]


def test_a_payload_nobody_declared_is_named() -> None:
    here = fleet(a={"payload": "nowhere"})

    with pytest.raises(SpecError) as refused:
        registry_of(here, here.services["chat"])

    assert refused.value.message == "models.a.payload: no payload named 'nowhere'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "Invalid JSON: EOF while parsing a list at line 1 column 1"),
        ('{"id":"m"}', "Input should be a valid array, not {'id': 'm'}"),
        ('[{"id":"m","contxt":1}]', "[0] m: contxt: Extra inputs are not permitted, not 1"),
        ('[{"id":"m","context":"1"}]', "[0] m: context: Input should be a valid integer, not '1'"),
        ('[{"id":"a"},{"id":"b","aliases":["a"]}]', "'a' is the name or alias of more than one"),
        ('[{"id":"a","default":true},{"id":"b","default":true}]', "only one model is the default"),
        ('[{"id":"m\\r\\nx-evil: 1"}]', "[0]: id: String should match pattern"),
        ('[{"id":"m","env":{"A":"\\u0000"}}]', "a NUL character cannot be handed to a process"),
        ('[{"id":"m","payload":"../etc"}]', "[0] m: payload: String should match pattern"),
        ("[" * 5000, "recursion limit exceeded"),
    ],
)
def test_a_bad_document_is_refused_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_models(text)

    assert message in refused.value.message


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../b", "a//b", "", "."])
def test_a_file_outside_the_payload_is_refused(path: str) -> None:
    text = json.dumps([{"id": "m", "files": [{"path": path, "bytes": 1, "sha256": SHA}]}])

    with pytest.raises(SpecError, match="is not a path inside the payload's folder"):
        parse_models(text)
