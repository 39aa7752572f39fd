"""What an answer of a counting model has to be, whatever happened to engines and peers. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from tests.fakes.counting_model import WORDS, counted

End = Literal["clean", "cut", "left"]
"""How a client saw the end: as HTTP wants it, broken off, or by its own leaving."""
Kind = Literal["whole", "told", "refused", "left"]
"""A full answer, an error within a stream, a status that says no, or a client that went away."""
NO = (502, 503, 504)
"""What may happen to a request for a model that exists, when engines die and peers come and go."""


@dataclass(frozen=True)
class Request:
    """So many words of one model."""

    model: str
    words: int
    stream: bool


@dataclass(frozen=True)
class Heard:
    """All that came back; status 0 is none."""

    status: int
    data: bytes
    end: End


class Breach(AssertionError):
    """A law of the mesh is broken."""


def judge(request: Request, heard: Heard) -> Kind:
    """What kind of answer it was. Raises Breach for one that may never be given."""
    if heard.end == "left":
        _began_well(request, heard)
        return "left"
    if heard.status in NO:
        return _refusal(heard)
    if heard.status != 200:
        raise Breach(f"status {heard.status}, ended {heard.end}: {heard.data[:300]!r}")
    return _stream(request, heard) if request.stream else _whole(request, heard)


def _refusal(heard: Heard) -> Kind:
    if heard.end != "clean" or not _error_of(_object(heard.data)):
        raise Breach(f"{heard.status} without a reason, ended {heard.end}: {heard.data[:300]!r}")
    return "refused"


def _whole(request: Request, heard: Heard) -> Kind:
    if heard.end != "clean":
        raise Breach("an answer that is no stream was cut")
    choice = _object(heard.data)["choices"][0]
    _is_right(request, choice["message"]["content"], choice["finish_reason"])
    return "whole"


def _stream(request: Request, heard: Heard) -> Kind:
    """Whole and clean, or told why not and cut; never anything between."""
    events = _events(heard.data)
    said, reason, error = _read(events)
    if error:
        if heard.end == "clean" or b"[DONE]" in heard.data:
            raise Breach(f"a failed stream looks whole: {error}")
        _is_begun(request, said)
        return "told"
    if heard.end != "clean" or events[-1:] != ["[DONE]"]:
        raise Breach(f"ended {heard.end} without a word why, after {said[-60:]!r}")
    _is_right(request, said, reason)
    return "whole"


def _began_well(request: Request, heard: Heard) -> None:
    if heard.status == 200 and request.stream:
        said, _, _ = _read(_events(heard.data.rpartition(b"\n\n")[0]))
        _is_begun(request, said)


def _is_right(request: Request, said: str, reason: str | None) -> None:
    if said != counted(request.model, request.words):
        raise Breach(f"{request} was answered {said[:200]!r} ... {said[-60:]!r}")
    if reason != ("length" if request.words <= WORDS else "stop"):
        raise Breach(f"{request} ended for the reason {reason}")


def _is_begun(request: Request, said: str) -> None:
    if not counted(request.model, request.words).startswith(said):
        raise Breach(f"{request} was answered {said[:200]!r}")


def _events(data: bytes) -> list[str]:
    """The data of every event; the comments of the wait are none."""
    blocks = [block for block in data.decode().split("\n\n") if block]
    shown = [block for block in blocks if not block.startswith(":")]
    if not all(block.startswith("data: ") for block in shown):
        raise Breach(f"half an event was shown: {shown[-1]!r}")
    return [block.removeprefix("data: ") for block in shown]


def _read(events: list[str]) -> tuple[str, str | None, str]:
    """Text, finish reason and error of a stream."""
    said, reason, error = "", None, ""
    for event in events:
        value = _object(event.encode()) if event != "[DONE]" else {}
        error = _error_of(value) or error
        for choice in value.get("choices", []):
            said += choice["delta"].get("content") or ""
            reason = choice.get("finish_reason") or reason
    return said, reason, error


def _error_of(value: dict[str, Any]) -> str:
    return str((value.get("error") or {}).get("message", ""))


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        raise Breach(f"no JSON: {data[:300]!r}") from None
    if not isinstance(value, dict):
        raise Breach(f"no object: {data[:300]!r}")
    return value
