"""Reads entries of Cloud Logging into lines. Pure."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from meshctl.engines.carried import message_of
from meshctl.targets.cloudrun.odd import Odd, text

Json = dict[str, Any]
SEVERITIES = ("DEFAULT", "DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT",
              "EMERGENCY")  # fmt: skip
"""Cloud Logging's LogSeverity, rising."""
LONGEST_TEXT = 4000
"""Characters kept of one entry: a whole traceback, and no endless line."""


@dataclass(frozen=True)
class Wanted:
    """Whose entries, since when, from which severity up."""

    service: str
    region: str
    since: str
    revision: str | None = None
    severity: str | None = None

    def filter(self) -> str:
        """In the language of Cloud Logging."""
        parts = [
            'resource.type="cloud_run_revision"',
            f'resource.labels.service_name="{self.service}"',
            f'resource.labels.location="{self.region}"',
            f'timestamp>="{self.since}"',
        ]
        if self.revision:
            parts.append(f'resource.labels.revision_name="{self.revision}"')
        if self.severity:
            parts.append(f"severity>={self.severity}")
        return " AND ".join(parts)


@dataclass(frozen=True)
class Line:
    """One entry; `id` tells it from others of the same time."""

    at: str
    id: str
    severity: str
    revision: str
    text: str


def lines_of(entries: Iterable[Json]) -> list[Line]:
    """The oldest first, each once; an entry that says nothing legible says so."""
    read = {(line.at, line.id, line.text): line for line in map(_line, entries)}
    return [read[key] for key in sorted(read, key=lambda key: (_moment(key[0]), key[1]))]


def _moment(at: str) -> datetime.datetime:
    """Times are compared as times: Google drops trailing zeros of the fraction, or writes nine."""
    whole, _, rest = at.rstrip("Z").partition(".")
    try:
        read = datetime.datetime.fromisoformat(f"{whole}.{(rest + '000000')[:6]}+00:00")
    except ValueError:
        return datetime.datetime.min.replace(tzinfo=datetime.UTC)
    return read


def _line(entry: Json) -> Line:
    odd = Odd()
    labels = odd.mapping("labels", odd.mapping("resource", entry.get("resource")).get("labels"))
    return Line(
        at=odd.read("timestamp", entry.get("timestamp"), text, ""),
        id=odd.read("insertId", entry.get("insertId"), text, ""),
        severity=odd.read("severity", entry.get("severity"), _severity, "DEFAULT"),
        revision=odd.read("revision", labels.get("revision_name"), text, ""),
        text=_said(entry)[:LONGEST_TEXT],
    )


def _severity(value: Any) -> str:
    return value if value in SEVERITIES else "DEFAULT"


def _said(entry: Json) -> str:
    """The line that was written, the message of a structured one, or what a request came to."""
    message = message_of(entry)
    if message:
        return message.rstrip("\n")
    odd = Odd()
    payload = odd.mapping("jsonPayload", entry.get("jsonPayload"))
    if payload:
        return json.dumps(payload, sort_keys=True)
    request = odd.mapping("httpRequest", entry.get("httpRequest"))
    if request:
        return _request(request)
    proto = odd.mapping("protoPayload", entry.get("protoPayload"))
    return str(proto.get("methodName") or "(an entry without text)")


def _request(request: Json) -> str:
    """`POST /v1/chat/completions 200 0.512s`: which host it was is known, and so are the nanos."""
    url, latency = str(request.get("requestUrl") or ""), str(request.get("latency") or "")
    path = re.sub(r"^\w+://[^/]*", "", url)
    took = re.sub(r"(\.\d{3})\d+", r"\1", latency)
    parts = (request.get("requestMethod"), path, request.get("status"), took)
    return " ".join(str(part) for part in parts if part)


def why_nothing(wanted: Wanted, window: str) -> str:
    """Why there may be no lines although all is well, and what to try."""
    told = [
        f"no entries of the last {window}: it was not asked or not started since, what it wrote "
        "is still on its way (some seconds), or the log is kept elsewhere"
    ]
    if wanted.severity:
        told.append("what a container prints may have no severity: leave --severity out")
    if wanted.revision:
        told.append("leave the revision out to see the others")
    told.append("look further back: --since 24h")
    return "; ".join(told)
