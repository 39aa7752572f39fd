"""Writes a session as JSON lines and reads it back: whoever doubts a number can compute it anew.
Pure.

The first line is about the run; each other one is an answer with its pieces and their moments. Of
the headers only those are kept that carry times: others may hold cookies or names.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import Any

from meshctl.bench.counters import Counters
from meshctl.bench.session import Session, Shot
from meshctl.bench.workload import Ask, Workload
from meshctl.errors import UsageError
from meshctl.outside.streams import Capture, Chunk

KIND = "bench-raw/v1"
KEPT_HEADERS = ("server-timing", "content-type", "x-mesh-release", "x-mesh-model")


def write_raw(session: Session) -> str:
    """The lines."""
    head = {
        "kind": KIND,
        "workload": asdict(session.workload),
        "steady": session.steady,
        "before": asdict(session.before) if session.before else None,
        "after": asdict(session.after) if session.after else None,
        "provenance": dict(session.provenance),
    }
    lines = [head, *(_shot(shot) for shot in session.shots)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def read_raw(text: str, place: str) -> Session:
    """The session. Raises UsageError with the line that is not as written."""
    number = 1
    try:
        lines = text.splitlines()
        head = json.loads(lines[0])
        if head["kind"] != KIND:
            raise ValueError(f"it is {head['kind']!r}, and not {KIND!r}")
        shots = []
        for line in lines[1:]:
            number += 1
            shots.append(_read_shot(json.loads(line)))
        number = 1  # what is wrong from here on stands in the first line
        return _session(head, tuple(shots))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise UsageError(
            f"this is no recording of a bench: {type(error).__name__}: {error}",
            place=f"{place}:{number}",
            hint="name a file that `meshctl bench run --raw FILE` wrote",
        ) from error


def _session(head: dict[str, Any], shots: tuple[Shot, ...]) -> Session:
    work = head["workload"]
    return Session(
        workload=Workload(
            lengths=(int(work["lengths"][0]), int(work["lengths"][1])),
            prompt_tokens=int(work["prompt_tokens"]),
            depths=tuple(int(depth) for depth in work["depths"]),
            repeats=int(work["repeats"]),
        ),
        shots=shots,
        steady=bool(head["steady"]),
        before=Counters(**head["before"]) if head["before"] else None,
        after=Counters(**head["after"]) if head["after"] else None,
        provenance=dict(head["provenance"]),
    )


def _shot(shot: Shot) -> dict[str, Any]:
    capture = shot.capture
    headers = {name: capture.headers[name] for name in KEPT_HEADERS if name in capture.headers}
    return {
        "ask": asdict(shot.ask),
        "status": capture.status,
        "headers": headers,
        "headers_s": capture.headers_s,
        "end": capture.end,
        "why": capture.why,
        "took_s": shot.took_s,
        "wall_s": shot.wall_s,
        "cpu_s": shot.cpu_s,
        "chunks": [[chunk.at_s, _text(chunk.data)] for chunk in capture.chunks],
    }


def _read_shot(line: dict[str, Any]) -> Shot:
    capture = Capture(
        status=int(line["status"]),
        headers=dict(line["headers"]),
        headers_s=float(line["headers_s"]),
        chunks=tuple(Chunk(float(at_s), _bytes(data)) for at_s, data in line["chunks"]),
        end=line["end"],
        why=str(line["why"]),
    )
    ask = Ask(**line["ask"])
    times = (float(line[key]) for key in ("took_s", "wall_s", "cpu_s"))
    return Shot(ask, capture, *times)


def _text(data: bytes) -> str | dict[str, str]:
    """Bytes as text; those of a piece that ends in the middle of a letter as base64."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _bytes(data: str | dict[str, str]) -> bytes:
    if isinstance(data, str):
        return data.encode()
    return base64.b64decode(data["base64"], validate=True)
