"""Is it our release that answers at this URL, and not another one? Pure.

Asks GET /v1/models. Passes when the header x-mesh-release holds the id of the release that is
meant. Skipped while traffic is split, and for what is no mesh (`mesh` is not in its args): every
release of meshctl's has MESH_RELEASE, and only the mesh tells it.
"""

from __future__ import annotations

from meshctl.verify.check import Answer, Check, Finding, Question, Silence
from meshctl.verify.questions import list_models
from meshctl.verify.status import refused, silent
from meshctl.verify.subject import Subject

HEADER = "x-mesh-release"
"""The mesh puts its MESH_RELEASE there, in every answer."""


def unless(subject: Subject) -> str:
    if not subject.identity:
        return "not asked: traffic is split, or answers carry no release id"
    return "" if subject.release else "no release is expected here"


def judge(subject: Subject, question: Question, answer: Answer) -> Finding:
    if isinstance(answer, Silence):
        return silent(answer)
    return refused(subject, answer) or _compare(subject.release, answer.headers.get(HEADER))


def _compare(expected: str | None, found: str | None) -> Finding:
    evidence = {"expected": expected, "found": found}
    if found is None:
        return Finding(
            "fail", f"no {HEADER} header: something else than {expected} answers here", evidence
        )
    if found != expected:
        return Finding("fail", f"expected release {expected}, but here answers {found}", evidence)
    return Finding("pass", evidence=evidence)


IDENTITY = Check("identity", list_models, judge, unless)
