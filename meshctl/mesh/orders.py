"""Reads what an operator asks of a mesh: which models to unload, which lines of the log. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from meshctl.mesh.faults import Fault, bad_request
from meshctl.mesh.router import Local, route
from meshctl.mesh.waiting import Stays
from meshctl.spec.registry import ModelEntry

USUAL_LINES, MOST_LINES = 200, 10_000
_SWITCH = {"": True, "1": True, "true": True, "0": False, "false": False}
_BUSY = {
    "serving": "it is answering a request",
    "waited_for": "a request is waiting for it",
    "pinned": "it is pinned, and never unloaded",
}


@dataclass(frozen=True)
class Unloading:
    """The models to unload; `named`: the one that was asked for, not whatever there is."""

    models: tuple[str, ...]
    named: bool


@dataclass(frozen=True)
class Lines:
    """The newest `count` lines, of one model's engine or of all; `follow`: and those to come."""

    model: str | None
    count: int
    follow: bool


def read_unload(body: bytes, models: Sequence[ModelEntry]) -> Unloading | Fault:
    """The models to unload: the one that is named, by id or alias, else all.

    An unknown key is refused, for a misspelt `model` would mean every model.
    """
    try:
        document = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        return bad_request(f"the body is not JSON: {error}")
    if not isinstance(document, dict) or set(document) - {"model"}:
        return bad_request('the body is neither {"model": ID} nor {} for all models')
    name = document.get("model")
    if name is None:
        return Unloading(tuple(model.id for model in models), named=False)
    if not isinstance(name, str):
        return bad_request("`model` is not the name of a model", "model")
    found = _own(name, models)
    return found if isinstance(found, Fault) else Unloading((found,), named=True)


def busy(model: str, stays: Stays | None) -> Fault | None:
    """Why the one model that was named is not unloaded; what is not loaded is no failure."""
    if stays not in _BUSY:
        return None
    code = "model_pinned" if stays == "pinned" else "model_busy"
    retry_s = None if stays == "pinned" else 2
    return Fault(409, f"{model} stays loaded: {_BUSY[stays]}", code, "model", retry_s)


def told(stays: Mapping[str, Stays | None]) -> dict[str, object]:
    """What became of each model."""
    return {
        "unloaded": [model for model, why in stays.items() if why is None],
        "kept": [{"model": model, "why": why} for model, why in stays.items() if why],
    }


def read_lines(query: Mapping[str, str], models: Sequence[ModelEntry]) -> Lines | Fault:
    """The lines that `?model=`, `?lines=` and `?follow` ask for."""
    if unknown := sorted(set(query) - {"model", "lines", "follow"}):
        return bad_request(f"there is no {unknown[0]!r}: model, lines and follow", unknown[0])
    count, follow = _count(query.get("lines", str(USUAL_LINES))), query.get("follow", "false")
    if count is None:
        return bad_request(f"`lines` is not a whole number from 1 to {MOST_LINES}", "lines")
    if follow not in _SWITCH:
        return bad_request("`follow` is true or false", "follow")
    model = _own(query["model"], models) if "model" in query else None
    return model if isinstance(model, Fault) else Lines(model, count, _SWITCH[follow])


def _count(text: str) -> int | None:
    known = text.isascii() and text.isdigit() and len(text) <= 9
    return int(text) if known and 1 <= int(text) <= MOST_LINES else None


def _own(name: str, models: Sequence[ModelEntry]) -> str | Fault:
    found = route(name, models, ())
    if isinstance(found, Local):
        return found.model.id
    shown = name if len(name) <= 200 else name[:200] + "..."
    return Fault(404, f"no engine here is of a model {shown!r}", "model_not_found", "model")
