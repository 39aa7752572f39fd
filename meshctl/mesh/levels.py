"""Reads how grave a line of an engine is, in the engine's own words. Pure."""

from __future__ import annotations

import json
import re

from meshctl.engines.boot import signature_of
from meshctl.engines.engine import Engine
from meshctl.mesh.line import Level

_FORMS = (
    # llama.cpp: `0.00.006.418 E failed to ...`
    re.compile(r"^\d+\.\d\d\.\d{3}\.\d{3} (?P<level>[A-Z]) "),
    # vLLM: `(EngineCore pid=7) ERROR 11-30 10:00:00 [core.py:1] ...`
    re.compile(r"^(?:\(\w+ pid=\d+\) )?(?P<level>[A-Z]+) +\d\d-\d\d "),
    # uvicorn and Python's own logging: `INFO:     Started`, `WARNING:root:...`
    re.compile(r"^(?:\(\w+ pid=\d+\) )?(?P<level>[A-Z]+):"),
    # logfmt, as programs in Go write it: `time=... level=warn msg=...`
    re.compile(r"\blevel=\"?(?P<level>[A-Za-z]+)"),
)
_WORDS: dict[Level, tuple[str, ...]] = {
    "debug": ("d", "debug", "trace"),
    "info": ("i", "info", "notice"),
    "warning": ("w", "warn", "warning"),
    "error": ("e", "err", "error", "critical", "fatal", "panic", "alert", "emergency"),
}
_LEVELS: dict[str, Level] = {word: level for level, words in _WORDS.items() for word in words}


def level_of(engine: Engine, line: str) -> Level | None:
    """What the line says of itself, else what it is known to name, else nothing."""
    stated = _in_structure(line) if line.startswith("{") else _in_text(line)
    return stated or _complaint(engine, line)


def _in_text(line: str) -> Level | None:
    found = (form.search(line) for form in _FORMS)
    words = (match["level"].lower() for match in found if match)
    return next((_LEVELS[word] for word in words if word in _LEVELS), None)


def _in_structure(line: str) -> Level | None:
    """A JSON line, as older builds of llama.cpp and many others write it."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    said = (str(value.get(key, "")).lower() for key in ("severity", "level", "levelname"))
    return next((_LEVELS[word] for word in said if word in _LEVELS), None)


def _complaint(engine: Engine, line: str) -> Level | None:
    said = engine.prefix.sub("", line, count=1).strip()
    if known := signature_of(engine.signatures, said):
        return known.severity
    return "error" if engine.error.search(line) else None
