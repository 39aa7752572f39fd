"""Is every declared model, and every alias of it, on the list that clients read? Pure.

Asks GET /v1/models. Passes when `data` lists every declared model and alias. Skipped where the
service declares no models.
"""

from __future__ import annotations

import difflib

from meshctl.verify.check import Answer, Check, Finding, Question, Silence
from meshctl.verify.questions import list_models, no_models
from meshctl.verify.reading import json_object, objects, text_of, words
from meshctl.verify.status import refused, silent
from meshctl.verify.subject import Subject


def judge(subject: Subject, question: Question, answer: Answer) -> Finding:
    if isinstance(answer, Silence):
        return silent(answer)
    listed = _listed(text_of(answer))
    return refused(subject, answer) or _compare(subject, listed, text_of(answer))


def _listed(text: str) -> list[str] | None:
    """Every id on the list and what stands under `aliases`; None where it is no list of models."""
    models = objects((json_object(text) or {}).get("data"))
    if models is None:
        return None
    names = []
    for model in models:
        aliases = model.get("aliases")
        names += [model.get("id"), *(aliases if isinstance(aliases, list) else ())]
    return [name for name in map(words, names) if name]


def _compare(subject: Subject, listed: list[str] | None, text: str) -> Finding:
    if listed is None:
        return Finding("fail", "the answer is no list of models", {"excerpt": text})
    evidence = {"listed": listed}
    declared = [name for model in subject.models for name in model.names]
    missing = sorted(set(declared) - set(listed))
    if missing:
        return Finding("fail", "; ".join(_absent(name, listed) for name in missing), evidence)
    return Finding("pass", evidence=evidence)


def _absent(name: str, listed: list[str]) -> str:
    near = difflib.get_close_matches(name, listed[:1000], 3)
    instead = f"near names: {', '.join(near)}" if near else f"listed: {', '.join(listed) or 'none'}"
    return f"{name} is not listed ({instead})"


MODEL_LISTED = Check("model-listed", list_models, judge, no_models)
