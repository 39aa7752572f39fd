"""Does anything answer, and does it let us in? Asked first: the other checks lean on it. Pure.

Asks GET /v1/models. Passes on status 200; 429 and 503 mean "not now" and are unclear, as is no
answer at all; any other status fails, 401 and 403 with the way in.
"""

from __future__ import annotations

from meshctl.verify.check import Answer, Check, Finding, Question, Silence
from meshctl.verify.questions import list_models
from meshctl.verify.status import refused, silent
from meshctl.verify.subject import Subject


def judge(subject: Subject, question: Question, answer: Answer) -> Finding:
    if isinstance(answer, Silence):
        return silent(answer)
    return refused(subject, answer) or Finding("pass", evidence={"status": answer.status})


REACHABLE = Check("reachable", list_models, judge)
