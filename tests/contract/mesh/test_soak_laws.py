"""The laws of the soak see what they are there for: a wrong, a short and a silent answer."""

from __future__ import annotations

import json

import pytest

from tests.contract.mesh.soak.laws import Breach, End, Heard, Kind, Request, judge

THREE = Request("red", 3, stream=True)
DONE = b"data: [DONE]\n\n"
ERROR = b'data: {"error": {"message": "the engine of red was lost"}}\n\n'


def said(text: str, reason: str | None = None) -> bytes:
    choice = {"delta": {"content": text}, "finish_reason": reason}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


WHOLE = b": keep-alive\n\n" + said(" red0 red1") + said(" red2") + said("", "length")


@pytest.mark.parametrize(
    ("data", "end", "kind"),
    [
        (WHOLE + DONE, "clean", "whole"),
        (said(" red0") + ERROR, "cut", "told"),
        (said(" red0") + b'data: {"cho', "left", "left"),
        (b"", "left", "left"),
    ],
)
def test_what_a_mesh_may_do(data: bytes, end: End, kind: Kind) -> None:
    assert judge(THREE, Heard(200, data, end)) == kind


@pytest.mark.parametrize(
    ("data", "end", "why"),
    [
        (said(" blue0") + said("", "length") + DONE, "clean", "was answered"),
        (said(" blue0"), "left", "was answered"),
        (said(" red0 red1 red2"), "clean", "without a word why"),
        (WHOLE, "clean", "without a word why"),
        (WHOLE, "cut", "without a word why"),
        (said(" red0 red1") + said("", "length") + DONE, "clean", "was answered"),
        (said(" red0 red0 red1") + said("", "length") + DONE, "clean", "was answered"),
        (said(" red0") + ERROR, "clean", "looks whole"),
        (said(" red0") + ERROR + DONE, "cut", "looks whole"),
        (said(" red0") + b'data: {"cho', "cut", "no JSON"),
        (b"", "clean", "without a word why"),
    ],
)
def test_what_a_mesh_may_never_do(data: bytes, end: End, why: str) -> None:
    with pytest.raises(Breach, match=why):
        judge(THREE, Heard(200, data, end))


@pytest.mark.parametrize(
    ("status", "data", "end"),
    [(0, b"", "cut"), (500, b"{}", "clean"), (503, b"{}", "clean"), (404, b"{}", "clean")],
)
def test_a_status_without_a_reason_is_no_answer(status: int, data: bytes, end: End) -> None:
    with pytest.raises(Breach):
        judge(THREE, Heard(status, data, end))


def test_a_refusal_with_its_reason_is_one() -> None:
    data = b'{"error": {"message": "the queue for red is full"}}'

    assert judge(THREE, Heard(503, data, "clean")) == "refused"
