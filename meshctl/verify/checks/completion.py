"""Does the engine really decode? A few tokens, in one whole answer, within the deadline. Pure.

Asks each model to count from 1 to 10, in eight tokens, by POST /v1/chat/completions. Passes when
the one JSON answer holds a token (content, reasoning or a tool call), counts no nonsense in
`usage`, and names the model that was asked. Skipped where the service declares no models.
"""

from __future__ import annotations

from typing import Any

from meshctl.outside.http import Response
from meshctl.verify.check import Answer, Check, Finding, Question, Silence
from meshctl.verify.questions import chat, no_models
from meshctl.verify.reading import error_of, json_object, objects, other_model, spoken, text_of
from meshctl.verify.status import refused, silent
from meshctl.verify.subject import ModelAsked, Subject


def questions(subject: Subject) -> tuple[Question, ...]:
    return chat(subject, stream=False)


def judge(subject: Subject, question: Question, answer: Answer) -> Finding:
    if isinstance(answer, Silence):
        return _wedged(subject) if answer.late else silent(answer)
    return refused(subject, answer) or _read(answer, question)


def _wedged(subject: Subject) -> Finding:
    """Reachable passed, so the network is there: it is the engine that does not answer."""
    deadline_s = subject.token_deadline_s
    return Finding("fail", f"no token within {deadline_s:g} s", {"deadline_s": deadline_s})


def _read(answer: Answer, question: Question) -> Finding:
    assert isinstance(answer, Response) and question.model
    text = text_of(answer)
    document = json_object(text)
    evidence: dict[str, Any] = {"seconds": answer.seconds, "excerpt": text}
    if answer.truncated:
        return Finding("fail", "the answer has no end in sight", evidence)
    if document is None:
        return Finding("fail", "the answer is no JSON object", evidence)
    said = _said(document)
    evidence |= {"tokens": _tokens(document)} | ({"fields": sorted(said)} if said else {})
    problem = _problem(document, said, question.model)
    if problem:
        return Finding("fail", problem, evidence)
    return Finding("pass", evidence=evidence | {"excerpt": " ".join(said.values())})


def _problem(document: dict[str, Any], said: dict[str, str], model: ModelAsked) -> str:
    error = error_of(document)
    if error is not None:
        return f"answered 200 with an error: {error}"
    if not said:
        return "answered without a token: no content, reasoning or tool call in choices[0].message"
    return _usage_problem(document.get("usage")) or other_model(model, document.get("model"))


def _said(document: dict[str, Any]) -> dict[str, str]:
    choices = objects(document.get("choices"))
    message = choices[0].get("message") if choices else None
    return spoken(message) if isinstance(message, dict) else {}


def _tokens(document: dict[str, Any]) -> int | None:
    usage = document.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) else None


def _usage_problem(usage: Any) -> str:
    """Clients are billed by these counts: they may be absent, but not be wrong."""
    if usage is None:
        return ""
    if not isinstance(usage, dict):
        return "usage is no object"
    for key in ("prompt_tokens", "completion_tokens"):
        count = usage.get(key, 1)
        if type(count) is not int or count < 1:
            return f"usage.{key} must be a whole number of 1 or more"
    return ""


COMPLETION = Check("completion", questions, judge, no_models)
