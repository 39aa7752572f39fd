"""The two outputs of an instance, cut into lines and handed on as log entries."""

from __future__ import annotations

import json
import secrets
from typing import Any

from meshctl.emulator.filters import SEVERITIES
from meshctl.emulator.logging.entries import STDERR, STDOUT, SYSTEM, Entries, Entry
from meshctl.emulator.logging.origin import Origin

_LONGEST_BYTES = 64 << 10  # a longer line becomes several entries


class Output:
    """What one instance writes: each line an entry, an unfinished one at the end."""

    def __init__(self, entries: Entries, origin: Origin) -> None:
        self._entries, self._origin = entries, origin
        self._labels = {"instanceId": secrets.token_hex(32)}
        self._open = {STDOUT: b"", STDERR: b""}

    def feed(self, log: str, data: bytes) -> None:
        """Take output as it comes."""
        *lines, rest = (self._open[log] + data).split(b"\n")
        while len(rest) > _LONGEST_BYTES:
            lines.append(rest[:_LONGEST_BYTES])
            rest = rest[_LONGEST_BYTES:]
        self._open[log] = rest
        self._write(log, lines)

    def end(self, code: int | None) -> None:
        """The process is gone: what it left unfinished, and its exit where it was not clean."""
        for log, rest in self._open.items():
            self._write(log, [rest])
        if code:
            # facts s5 and s11: what the platform itself says goes to its own log.
            text = f"called exit({code})" if code > 0 else f"terminated on signal {-code}"
            row = {"textPayload": f"Container {text}.", "severity": "WARNING"}
            self._entries.write(self._origin, SYSTEM, [row | {"labels": self._labels}])

    def _write(self, log: str, lines: list[bytes]) -> None:
        texts = [line.decode(errors="replace").rstrip("\r") for line in lines]
        rows = [_payload(text) | {"labels": self._labels} for text in texts if text]
        if rows:
            self._entries.write(self._origin, log, rows)


def _payload(text: str) -> Entry:
    """A line as text, or as structure when it is one JSON object.

    Only structure says how grave it is: a plain line is DEFAULT on either output, and so is a word
    that is no severity. DEFAULT is not written out.
    """
    structured = _structured(text)
    if structured is None:
        return {"textPayload": text}
    said = str(structured.pop("severity", "")).upper()
    grave = said in SEVERITIES and said != "DEFAULT"
    return {"jsonPayload": structured} | ({"severity": said} if grave else {})


def _structured(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
