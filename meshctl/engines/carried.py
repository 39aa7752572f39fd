"""Takes what was said out of what carried it: journals, containers, clouds, a mesh. Pure.

The same line reaches people as `podman logs` shows it, through journald in two forms, as a JSON
object of Docker, of Cloud Logging or of the engine itself, and with a mesh's mark in front. All
that is known of failures is told in the engine's own words, which begin behind it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

DEEPEST = 5
"""Carriers within carriers: a mesh in a container under journald under Cloud Logging is four."""
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_DAY = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_SPEAKS = r"(?:kernel|[^\s:\[\]]+\[\d+\]): "
_FRONT = re.compile(
    # journald's `-o short`: `Nov 30 10:00:00 host podman[7]: `
    rf"[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \S+ (?:{_SPEAKS}|[\w@.-]+: )"
    # `-o short-iso`, and times in front of a line as podman, Docker, and meshes write them
    rf"|{_DAY} (?:\S+ {_SPEAKS}|(?:stdout|stderr) [FP] |\| |(?:error|warning|info|debug|-) "
    r"(?=\[|mesh: ))?"
    # the kernel's own clock: `[   12.345678] `; Compose and pods: `engine-1  | `, `0123456789ab `
    r"|\[ *\d+\.\d{6}\] |[\w.-]+ +\| |[0-9a-f]{12} (?=\S)"
    # `meshctl logs`: `20:45:12 r1-x ERROR  `
    r"|(?:\d\d-\d\d )?\d\d:\d\d:\d\d(?: [\w-]+){0,2}  (?:✗ )?"
)
_MARK = re.compile(r"\[(?P<model>[A-Za-z0-9][A-Za-z0-9._:/@~-]*)\] ")
"""`[model] `, as the mesh writes it."""
_MESH = re.compile(r"mesh (?:error|warning|info|debug): ")
_MESSAGES = ("textPayload", "message", "msg", "MESSAGE", "log", "text")
_GRAVE = ("error", "critical", "fatal", "alert", "emergency", "panic")
_BROKEN = re.compile(r'"(?:textPayload|message|msg|MESSAGE|log)": ?"((?:[^"\\]|\\.)*)')


class Said(NamedTuple):
    """One line in the words of who said it. `grave`: its carrier says that it is an error."""

    text: str
    speaker: str = ""
    grave: bool = False


def unpacked(line: str, speaker: str = "", grave: bool = False, depth: int = 0) -> Iterator[Said]:
    """The lines that a line carries: one, none, or several where a message holds line ends."""
    line = without_escapes(line)
    inner = _inside(line) if depth < DEEPEST else None
    if inner is None:
        yield Said(line.strip(), speaker, grave)
        return
    said = Said(inner.text, inner.speaker or speaker, inner.grave or grave)
    for part in re.split(r"[\r\n]+", said.text):
        if part:
            yield from unpacked(part, said.speaker, said.grave, depth + 1)


def without_escapes(line: str) -> str:
    """Without what a terminal would obey."""
    return _ESCAPES.sub("", line) if "\x1b" in line else line


def _inside(line: str) -> Said | None:
    """What is within one carrier; None where there is none."""
    text = line.lstrip()
    if text.startswith("{"):
        return _in_object(text)
    if front := _FRONT.match(text):
        return Said(text[front.end() :])
    if mark := _MARK.match(text):
        return Said(text[mark.end() :], speaker=mark["model"])
    if mesh := _MESH.match(text):
        return Said(f"mesh: {text[mesh.end() :]}", grave=mesh[0].startswith("mesh error"))
    return None


def _in_object(text: str) -> Said | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # cut because it was too long: its message may be whole
        found = _BROKEN.search(text)
        return Said(_decoded(found[1])) if found else None
    if not isinstance(value, dict) or (message := message_of(value)) is None:
        return None
    return Said(message, _revision(value), _is_grave(value))


def _decoded(quoted: str) -> str:
    try:
        return str(json.loads(f'"{quoted}"'))
    except ValueError:
        return quoted


def message_of(entry: Mapping[str, Any]) -> str | None:
    """What a structured line, or an entry of Cloud Logging, says in words; None where nothing."""
    for key in _MESSAGES:
        value = entry.get(key)
        if isinstance(value, str):
            return value
        if key == "MESSAGE" and isinstance(value, list):  # journald, where it is no clean text
            return bytes(v for v in value if isinstance(v, int) and 0 <= v < 256).decode(
                errors="replace"
            )
    inner = entry.get("jsonPayload")
    if isinstance(inner, dict):
        return message_of(inner)
    proto = entry.get("protoPayload")
    status = proto.get("status") if isinstance(proto, dict) else None
    told = status.get("message") if isinstance(status, dict) else None
    return told if isinstance(told, str) else None


def _revision(entry: Mapping[str, Any]) -> str:
    resource = entry.get("resource")
    labels = resource.get("labels") if isinstance(resource, dict) else None
    name = labels.get("revision_name") if isinstance(labels, dict) else entry.get("revision")
    return name if isinstance(name, str) else ""


def _is_grave(entry: Mapping[str, Any]) -> bool:
    words = (str(entry.get(key, "")).lower() for key in ("severity", "level", "levelname"))
    return any(word in _GRAVE for word in words) or entry.get("PRIORITY") in ("0", "1", "2", "3")
