"""What a check is: questions to ask, and a judgement of one answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from meshctl.outside.http import Line, Request, Response
from meshctl.verify.subject import ModelAsked, Subject

Outcome = Literal["pass", "fail", "unclear"]
End = Literal["closed", "cut", "late", "long"]


@dataclass(frozen=True)
class Question:
    """One request, read whole or as a stream, and the model it is about where there is one."""

    request: Request
    streamed: bool = False
    model: ModelAsked | None = None


@dataclass(frozen=True)
class Silence:
    """No whole answer came, and why; `late` when the time was over, else the network broke."""

    reason: str
    late: bool = False


@dataclass(frozen=True)
class Transcript:
    """A streamed answer as it was read, and how it ended.

    closed: by the server. cut: the connection broke. late: the time was over. long: it went on
    beyond what eight tokens could ever need.
    """

    status: int
    lines: tuple[Line, ...]
    end: End = "closed"
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Response | Transcript | Silence


@dataclass(frozen=True)
class Finding:
    """What one answer showed. Text in it may be anybody's: the battery makes it presentable."""

    verdict: Outcome
    why: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


def always(subject: Subject) -> str:
    """The `unless` of a check that applies to every subject."""
    return ""


@dataclass(frozen=True)
class Check:
    """`questions` asks, `judge` judges one answer; `unless` says why it does not apply, or ""."""

    name: str
    questions: Callable[[Subject], tuple[Question, ...]]
    judge: Callable[[Subject, Question, Answer], Finding]
    unless: Callable[[Subject], str] = always
