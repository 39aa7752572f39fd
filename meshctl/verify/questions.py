"""The two questions that checks ask: what is listed, and say something. Pure."""

from __future__ import annotations

from meshctl.outside.http import Request
from meshctl.verify.check import Question
from meshctl.verify.subject import ModelAsked, Subject

MOST_TOKENS = 8
"""Enough to see an engine decode, few enough for the slowest."""


def list_models(subject: Subject) -> tuple[Question, ...]:
    """The question that costs no token. Not /health: the platform's front end may take that path,
    and engines answer it while they serve nothing."""
    return (Question(Request(_url(subject, "/v1/models"), headers=_headers(subject))),)


def chat(subject: Subject, *, stream: bool) -> tuple[Question, ...]:
    """A few tokens from every model that must show one, always the same: this is no benchmark."""
    return tuple(_say_something(subject, model, stream) for model in subject.asked)


def no_models(subject: Subject) -> str:
    """Why a check about models does not apply, or ""."""
    return "" if subject.models else "the service declares no models"


def _say_something(subject: Subject, model: ModelAsked, stream: bool) -> Question:
    body = {
        "model": model.id,
        "messages": [{"role": "user", "content": "Count from 1 to 10."}],
        "max_tokens": MOST_TOKENS,
        "temperature": 0,
        "stream": stream,
    }
    url = _url(subject, "/v1/chat/completions")
    return Question(Request(url, "POST", _headers(subject), body), streamed=stream, model=model)


def _url(subject: Subject, path: str) -> str:
    return subject.url.rstrip("/") + path


def _headers(subject: Subject) -> dict[str, str]:
    if not subject.token:
        return {}
    return {"Authorization": f"Bearer {subject.token.reveal()}"}
