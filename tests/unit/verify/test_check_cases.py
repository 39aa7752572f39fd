"""Every row of tests/cases/verify: one answer, and what the check makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.outside.http import Line, Response
from meshctl.verify.check import Answer, Silence, Transcript
from meshctl.verify.checks import CHECKS
from tests.unit.verify.talking import subject

FOLDER = Path(__file__).parents[2] / "cases" / "verify"
GOOD = [
    'data: {"choices": [{"delta": {"role": "assistant", "content": "1 "}}]}',
    "",
    'data: {"model": "m", "choices": [{"delta": {"content": "2"}}]}',
    "",
    'data: {"model": null, "choices": [{"delta": {}, "finish_reason": "stop"}]}',
    "",
]
MACROS = {"good": GOOD, "data: deep": ["data: " + "[" * 100_000]}


def rows() -> list[Any]:
    return [
        pytest.param(check, row, id=f"{check}: {row['name']}")
        for check in CHECKS
        for row in yaml.safe_load((FOLDER / f"{check}.yaml").read_text())
    ]


def answer_of(given: dict[str, Any]) -> Answer:
    if "silence" in given:
        return Silence(given["silence"], given.get("late", False))
    status, headers = given.get("status", 200), given.get("headers", {})
    if "lines" not in given:
        return Response(status, headers, body_of(given), 0.4, given.get("truncated", False))
    lines = [line for text in given["lines"] for line in MACROS.get(text, [text])]
    step_s = given.get("step_s", 0.1)
    timed = tuple(Line(text, number * step_s) for number, text in enumerate(lines, 1))
    return Transcript(status, timed, given.get("end", "closed"), given.get("reason", ""), headers)


def body_of(given: dict[str, Any]) -> bytes:
    if "json" in given:
        return json.dumps(given["json"]).encode()
    if "hex" in given:
        return bytes.fromhex(given["hex"])
    text: str = given.get("body", given.get("repeat", "") * given.get("times", 0))
    return text.encode()


@pytest.mark.parametrize(("check", "row"), rows())
def test_an_answer_gets_the_verdict_of_its_row(check: str, row: dict[str, Any]) -> None:
    whom = subject(**row.get("subject", {}))
    question = CHECKS[check].questions(whom)[0]

    found = CHECKS[check].judge(whom, question, answer_of(row["given"]))

    assert (found.verdict, found.why) == (row["verdict"], found.why)
    assert row.get("why", "") in found.why
    assert bool(found.why) == (found.verdict != "pass")
