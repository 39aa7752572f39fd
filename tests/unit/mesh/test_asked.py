"""What a client sends is read once, and only an absent model changes it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.mesh.asked import LONGEST_TOKEN, MOST_MARKS, Asked, least_tokens, read_asked
from meshctl.mesh.faults import Fault, engine_down


def test_a_named_model_leaves_the_body_as_it_came() -> None:
    body = b'{ "model":"m" , "seed":1 }'

    assert read_asked(body, "other") == Asked("m", body)


def test_an_absent_or_null_model_is_the_default_and_is_written_in() -> None:
    for body in (b'{"n":1}', b'{"n":1,"model":null}'):
        asked = read_asked(body, "default")

        assert isinstance(asked, Asked) and asked.model == "default"
        assert json.loads(asked.body) == {"n": 1, "model": "default"}


def test_without_a_default_a_name_is_required() -> None:
    asked = read_asked(b"{}", None)

    assert isinstance(asked, Fault) and (asked.status, asked.param) == (400, "model")


@pytest.mark.parametrize(
    "name", ["", "m\r\nx-mesh-release: r9", "m\n", "m\0", "m" * 201, "ü", "\ud800", " m", "a,b"]
)
def test_a_name_no_model_can_have_is_a_400(name: str) -> None:
    asked = read_asked(json.dumps({"model": name}).encode(), "default")

    assert isinstance(asked, Fault) and (asked.status, asked.param) == (400, "model")


@pytest.mark.parametrize("name", ["m" * 200, "org/Model-7B:q4_0@main~1"])
def test_a_long_or_winding_name_is_a_name(name: str) -> None:
    assert isinstance(read_asked(json.dumps({"model": name}).encode(), None), Asked)


def test_only_a_true_stream_is_a_stream() -> None:
    streams = [
        read_asked(json.dumps({"model": "m", "stream": value}).encode(), None)
        for value in (True, False, None, "true", 1)
    ]

    assert [isinstance(asked, Asked) and asked.stream for asked in streams] == [True] + [False] * 4


@pytest.mark.parametrize(
    ("document", "tokens"),
    [
        ({}, 0),
        ({"prompt": "x" * 10 * LONGEST_TOKEN}, 10),
        ({"prompt": [1] * 7}, 7),
        ({"prompt": [[1] * 7, [1] * 9]}, 9),
        ({"prompt": ["x" * LONGEST_TOKEN, "y"]}, 1),
        ({"prompt": []}, 0),
        ({"messages": [{"content": "x" * LONGEST_TOKEN}] * 3}, 3),
        ({"messages": [{"content": [{"type": "text", "text": "x" * LONGEST_TOKEN}]}]}, 1),
        ({"messages": [{"content": [{"image_url": {"url": "x" * 10**6}}]}]}, 0),
        ({"messages": [7, {"content": 7}, {"content": [7]}]}, 0),
    ],
)
def test_the_least_tokens_of_a_prompt_are_known_without_a_tokenizer(
    document: dict[str, object], tokens: int
) -> None:
    assert least_tokens(document) == tokens


@given(st.binary())
def test_any_bytes_are_a_request_or_a_400(body: bytes) -> None:
    asked = read_asked(body, "m")

    assert isinstance(asked, Asked) or asked.status == 400


def test_a_fault_is_an_openai_envelope_that_names_the_mesh() -> None:
    fault = engine_down("it is loading")

    assert json.loads(fault.body()) == {
        "error": {
            "message": "it is loading",
            "type": "unavailable_error",
            "param": None,
            "code": "engine_unavailable",
            "src": "mesh",
        }
    }
    assert fault.event() == b"data: " + fault.body() + b"\n\n"


def test_a_body_of_more_values_than_can_be_read_in_passing_is_refused() -> None:
    most = b'{"model":"m","prompt":[' + b"1," * (MOST_MARKS - 4) + b"1]}"

    accepted = read_asked(most, None)
    refused = read_asked(most.replace(b"[", b"[[],[],"), None)

    assert isinstance(accepted, Asked)
    assert isinstance(refused, Fault) and (refused.status, refused.code) == (413, "too_large")
