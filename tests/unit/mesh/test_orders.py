"""What an operator asks is read to the letter: a misspelt word is refused, never taken for all."""

from __future__ import annotations

import pytest

from meshctl.mesh.faults import Fault
from meshctl.mesh.orders import Lines, Unloading, busy, read_lines, read_unload, told
from meshctl.spec.registry import ModelEntry

MODELS = (ModelEntry(id="a", aliases=("first",), command=("x",)), ModelEntry(id="b"))


@pytest.mark.parametrize("body", [b"", b" \n", b"{}", b'{"model": null}'])
def test_nobody_named_is_everybody(body: bytes) -> None:
    assert read_unload(body, MODELS) == Unloading(("a", "b"), named=False)


@pytest.mark.parametrize("name", ["a", "first"])
def test_a_model_is_named_by_id_or_alias(name: str) -> None:
    body = f'{{"model": "{name}"}}'.encode()

    assert read_unload(body, MODELS) == Unloading(("a",), named=True)
    assert read_lines({"model": name}, MODELS) == Lines("a", 200, follow=False)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400), (b"[]", 400), (b'"a"', 400), (b'{"modell": "a"}', 400), (b'{"model": 1}', 400),
        (b"[" * 99_999, 400), (b"\xff", 400), (b'{"model": "c"}', 404), (b'{"model": ""}', 404),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_unloads_nothing(body: bytes, status: int) -> None:
    asked = read_unload(body, MODELS)

    assert isinstance(asked, Fault) and asked.status == status


def test_a_named_model_that_stays_is_409_and_an_absent_one_is_no_failure() -> None:
    serving, pinned = busy("a", "serving"), busy("a", "pinned")

    assert serving and (serving.status, serving.code) == (409, "model_busy")
    assert serving.retry_after_s
    assert pinned and (pinned.code, pinned.retry_after_s) == ("model_pinned", None)
    assert busy("a", "not_loaded") is None and busy("a", None) is None


def test_what_was_unloaded_and_what_stays_is_told() -> None:
    assert told({"a": None, "b": "pinned", "c": "not_loaded"}) == {
        "unloaded": ["a"],
        "kept": [{"model": "b", "why": "pinned"}, {"model": "c", "why": "not_loaded"}],
    }


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ({}, Lines(None, 200, follow=False)),
        ({"lines": "10000", "follow": ""}, Lines(None, 10_000, follow=True)),
        ({"follow": "true", "model": "b"}, Lines("b", 200, follow=True)),
        ({"follow": "0"}, Lines(None, 200, follow=False)),
    ],
)
def test_lines_are_asked_for_by_model_and_number(query: dict[str, str], lines: Lines) -> None:
    assert read_lines(query, MODELS) == lines


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"lines": "0"}, "lines"), ({"lines": "10001"}, "lines"), ({"lines": "-1"}, "lines"),
        ({"lines": "²"}, "lines"), ({"lines": "9" * 5000}, "lines"), ({"follow": "on"}, "follow"),
        ({"tail": "1"}, "tail"), ({"model": "c" * 9999}, "model"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_meant_is_refused_by_name(
    query: dict[str, str], param: str
) -> None:
    fault = read_lines(query, MODELS)

    assert isinstance(fault, Fault) and fault.param == param
    assert len(fault.message) < 300
