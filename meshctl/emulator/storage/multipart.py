"""Reads multipart/related uploads as leniently as the cloud does: the description, then the bytes.

gcloud ends its lines with a bare line feed and quotes the boundary with apostrophes, which no
strict parser takes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from meshctl.emulator.failures import invalid

_BOUNDARY = re.compile(r"""boundary=(?:"([^"]+)"|'([^']+)'|([^;\s]+))""")
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True)
class Upload:
    """What was sent: the object's description, its bytes and their type."""

    attributes: dict[str, Any]
    data: bytes
    content_type: str


def parse(content_type: str, body: bytes) -> Upload:
    """The two parts of a body; ApiError 400 for anything else."""
    match = _BOUNDARY.search(content_type)
    if match is None:
        raise invalid("The multipart body has no boundary.")
    mark = b"--" + next(group for group in match.groups() if group).encode()
    first = body.find(mark)
    second = body.find(mark, first + len(mark))
    last = body.rfind(mark)
    if first < 0 or not first < second < last:
        raise invalid("The multipart body needs a metadata part and a content part.")
    description = _part(body[first + len(mark) : second])[1]
    head, data = _part(body[second + len(mark) : last])
    return Upload(_attributes(description), data, _type(head))


def _part(text: bytes) -> tuple[bytes, bytes]:
    """Headers and content of one part, without the line end that belongs to the next boundary."""
    blank = _BLANK_LINE.search(text)
    if blank is None:
        raise invalid("A part of the multipart body has no end of its headers.")
    content = text[blank.end() :]
    return text[: blank.start()], content[:-2] if content.endswith(b"\r\n") else content[:-1]


def _attributes(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text or b"{}")
    except ValueError as error:
        raise invalid(f"The metadata part is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise invalid("The metadata part is not a JSON object.")
    return found


def _type(head: bytes) -> str:
    match = re.search(rb"(?im)^content-type:\s*(.+?)\s*$", head)
    return match[1].decode("latin-1") if match else "application/octet-stream"
