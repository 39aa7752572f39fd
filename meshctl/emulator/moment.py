"""Instants as microseconds: the clock, RFC 3339 texts and the etags made of them."""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime

_last = 0


def now_us() -> int:
    """Microseconds since the epoch, never the same twice in this process."""
    global _last
    _last = max(time.time_ns() // 1000, _last + 1)
    return _last


def rfc3339(us: int) -> str:
    """The instant as the APIs write it, with microseconds."""
    text = datetime.fromtimestamp(us // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{us % 1_000_000:06d}Z"


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def etag(us: int, name: str) -> str:
    """facts s1: quoted, unpadded base64 of Timestamp{seconds, nanos}, a slash, the full name."""
    stamp = b"\x08" + _varint(us // 1_000_000) + b"\x10" + _varint(us % 1_000_000 * 1000)
    return f'"{_b64(stamp)}/{_b64(name.encode())}"'


def etag_version(text: str) -> str:
    """The microseconds inside an etag, or the text itself where it is none of ours."""
    try:
        raw = text.strip('"').split("/")[0]
        data = base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4))
        numbers = _numbers(data)
        return str(numbers[1] * 1_000_000 + numbers.get(2, 0) // 1000)
    except (ValueError, KeyError, IndexError):
        return text


def _numbers(data: bytes) -> dict[int, int]:
    out: dict[int, int] = {}
    at = 0
    while at < len(data):
        key, at = data[at] >> 3, at + 1
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        out[key] = value
    return out


def resource_version(us: int) -> str:
    """facts s1: the v1 form, unpadded base64 of the microseconds as 8 bytes, big end first."""
    return _b64(us.to_bytes(8, "big"))


def resource_version_us(text: str) -> int | None:
    """The microseconds inside a v1 resourceVersion; None where it is none of ours."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return int.from_bytes(data, "big") if len(data) == 8 else None
