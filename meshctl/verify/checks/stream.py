"""Does a streamed answer keep the form that clients rely on, from first token to [DONE]? Pure.

Asks the same with `stream: true`. Passes when every line is an event or a comment, every event
JSON with choices, a token comes, and a finish_reason and [DONE] end it. Skipped where the service
declares no models.

The whole stream of eight tokens must end within the token deadline: an engine that stalls after
its first token is as wedged as one that stalls before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from meshctl.outside.http import Line
from meshctl.verify.check import Answer, Check, Finding, Question, Silence, Transcript
from meshctl.verify.questions import chat, no_models
from meshctl.verify.reading import error_of, json_object, objects, other_model, spoken, words
from meshctl.verify.status import refused, silent
from meshctl.verify.subject import ModelAsked, Subject


def questions(subject: Subject) -> tuple[Question, ...]:
    return chat(subject, stream=True)


def judge(subject: Subject, question: Question, answer: Answer) -> Finding:
    if isinstance(answer, Silence):
        if not answer.late:
            return silent(answer)
        return Finding("fail", f"no header and no token within {subject.token_deadline_s:g} s")
    return refused(subject, answer) or _read(subject, question, answer)


@dataclass
class _Seen:
    """What the lines have shown so far."""

    model: ModelAsked
    first_event_s: float | None = None
    first_token_s: float | None = None
    deltas: int = 0
    said: dict[str, str] = field(default_factory=dict)
    finish_reason: str = ""
    done: bool = False
    in_event: bool = False


def _read(subject: Subject, question: Question, answer: Answer) -> Finding:
    assert isinstance(answer, Transcript) and question.model
    seen = _Seen(question.model)
    problem = _malformed(seen, answer) or _unfinished(seen, answer, subject.token_deadline_s)
    return Finding("fail" if problem else "pass", problem, _evidence(seen, answer))


def _malformed(seen: _Seen, answer: Transcript) -> str:
    """Takes the lines in up to the first wrong one; what is wrong with it, or ""."""
    for number, line in enumerate(answer.lines, 1):
        if problem := _take(seen, line):
            return f"line {number}: {problem}"
    return ""


def _take(seen: _Seen, line: Line) -> str:
    """Takes one line in; what is wrong with it, or ""."""
    text = line.text
    if not text:
        seen.in_event = False
        return ""
    if seen.done:
        return f"something after [DONE]: {text}"
    if text.startswith(":"):
        return ""
    if not text.startswith("data:"):
        return f"neither data nor a comment: {text}"
    if seen.in_event:
        return f"two data lines in one event, for no blank line ended the first: {text}"
    seen.in_event = True
    return _take_event(seen, text.removeprefix("data:").removeprefix(" "), line.at_s)


def _take_event(seen: _Seen, data: str, at_s: float) -> str:
    seen.first_event_s = at_s if seen.first_event_s is None else seen.first_event_s
    if data == "[DONE]":
        seen.done = True
        return ""
    event = json_object(data)
    if event is None:
        return f"the data is no JSON object: {data}"
    error = error_of(event)
    if error is not None:
        return f"an error event: {error}"
    choices = objects(event.get("choices"))
    if choices is None:
        return f"an event without choices: {data}"
    for choice in choices:
        _take_choice(seen, choice, at_s)
    named = event.get("model")
    return "" if named is None else other_model(seen.model, named)


def _take_choice(seen: _Seen, choice: dict[str, Any], at_s: float) -> None:
    delta = choice.get("delta")
    said = spoken(delta) if isinstance(delta, dict) else {}
    if said:
        seen.first_token_s = at_s if seen.first_token_s is None else seen.first_token_s
        seen.deltas += 1
    for name, text in said.items():
        seen.said[name] = seen.said.get(name, "") + text
    seen.finish_reason = words(choice.get("finish_reason")) or seen.finish_reason


def _unfinished(seen: _Seen, answer: Transcript, deadline_s: float) -> str:
    """What a well-formed stream still lacks at its end, the gravest first; or ""."""
    late = answer.end == "late"
    if seen.first_token_s is None and late:
        return f"answered headers, but no token within {deadline_s:g} s"
    if seen.first_token_s is not None and seen.first_token_s > deadline_s:
        return f"the first token came after {seen.first_token_s:.1f} s, later than {deadline_s:g} s"
    ends = {
        "late": f"the stream did not end within {deadline_s:g} s",
        "cut": f"the stream was cut: {answer.reason}",
        "long": "the stream has no end in sight",
    }
    if answer.end in ends:
        return ends[answer.end]
    if seen.first_token_s is None:
        return "the stream ended without a token"
    if not seen.finish_reason:
        return "the stream ended without a finish_reason: the answer may be cut short"
    return "" if seen.done else "the stream ended without [DONE]"


def _evidence(seen: _Seen, answer: Transcript) -> dict[str, Any]:
    raw = "\n".join(line.text for line in answer.lines[:20])
    return {
        "first_event_s": seen.first_event_s,
        "first_token_s": seen.first_token_s,
        "deltas": seen.deltas,
        "fields": sorted(seen.said),
        "finish_reason": seen.finish_reason or None,
        "excerpt": " ".join(seen.said.values()) or raw,
    }


STREAM = Check("stream", questions, judge, no_models)
