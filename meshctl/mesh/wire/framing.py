"""HTTP/1.1 as it lies on a connection: a request in one piece, the head of an answer, and where its
body ends. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: .*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?")
_OPENS = re.compile(rb"([0-9a-fA-F]{1,8})\r\n")
_LENGTH = re.compile(r"[0-9]{1,15}")
LONGEST_LINE = 4096
"""Of the lines between the pieces of a body."""
INTERIM = (100, 102, 103)
"""They only say that more is to come. 101 would be another protocol; others are nobody's."""
_BODILESS = (204, 304)


class Malformed(Exception):
    """What came is no HTTP; `before` is what came of the body until then."""

    before = b""


@dataclass(frozen=True)
class Head:
    """The head of an answer; the names of its headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    keeps: bool
    """The connection may be used again."""


def whole_request(port: int, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A POST to an engine here. Raises ValueError for what would end a line of it."""
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"Content-Length: {len(body)}",
    ]
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
        raise ValueError("a line of the request holds a line end")
    return text.encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def read_head(head: bytes) -> Head:
    """The head of an answer, without the blank line after it. Raises Malformed."""
    text = head.decode("utf-8", "surrogateescape")
    first, *lines = text.split("\r\n")
    found = _STATUS.fullmatch(first)
    if found is None or text.count("\n") != len(lines) or text.count("\r") != len(lines):
        raise Malformed(f"{first[:80]!r}")
    if _CONTROL.search(text):
        raise Malformed("a control character in its head")
    if int(found[2]) < 200 and int(found[2]) not in INTERIM:
        raise Malformed(f"the status {found[2]}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not _NAME.fullmatch(name):
            raise Malformed(f"{line[:80]!r}")
        if name == "content-length" and headers.get(name, value.strip()) != value.strip():
            raise Malformed("two lengths")
        headers[name] = value.strip(" \t")
    keeps = found[1] == "1" and "close" not in headers.get("connection", "").lower()
    return Head(int(found[2]), headers, keeps)


class Body:
    """The body after a head: `feed` it what comes, until it is `over`."""

    def __init__(self, head: Head) -> None:
        coding, length = head.headers.get("transfer-encoding"), head.headers.get("content-length")
        if coding is not None and coding.lower() != "chunked":
            raise Malformed(f"the coding {coding[:80]!r}")
        if coding is None and length is not None and not _LENGTH.fullmatch(length):
            raise Malformed(f"the length {length[:80]!r}")
        self._chunked = coding is not None
        bodiless = head.status in _BODILESS
        sized = length is not None and coding is None and not bodiless
        self._left = int(length) if length is not None and sized else 0
        """Bytes to come: of the body, or of a piece with the line end after it."""
        self._rest = b""
        self._trailing = False
        self.ends_with_connection = not bodiless and coding is None and length is None
        self.over = bodiless or (sized and self._left == 0)
        self._keeps = head.keeps and not self.ends_with_connection

    @property
    def keeps(self) -> bool:
        """The connection may be used again: nothing came after the end."""
        return self._keeps

    def feed(self, data: bytes) -> bytes:
        """The bytes of the body among these. Raises Malformed."""
        if self._chunked:
            between = not (self._left or self._rest or self._trailing)
            return (between and _whole_piece(data)) or self._joined(data)
        if self.ends_with_connection:
            return data
        piece, more = data[: self._left], data[self._left :]
        self._left -= len(piece)
        self.over = self._left == 0
        self._keeps = self._keeps and not more
        return piece

    def _joined(self, data: bytes) -> bytes:
        """Pieces without what stands between them."""
        pieces: list[bytes] = []
        try:
            self._rest = self._cut(self._rest + data if self._rest else data, pieces)
        except Malformed as wrong:
            wrong.before = b"".join(pieces)
            raise
        self._keeps = self._keeps and not (self.over and self._rest)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _cut(self, data: bytes, pieces: list[bytes]) -> bytes:
        """Adds the pieces among these bytes; returns what is not yet known to be one."""
        at = 0
        while at < len(data) and not self.over:
            if self._left > 2:
                piece = data[at : at + self._left - 2]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
            elif self._left:
                if len(data) - at < 2:
                    break
                if data[at : at + 2] != b"\r\n":
                    raise Malformed("a piece is longer than its size")
                at, self._left = at + 2, 0
            elif (end := data.find(b"\r\n", at)) >= 0:
                self._line(data[at:end])
                at = end + 2
            else:
                break
        if len(data) - at > LONGEST_LINE and not self.over:
            raise Malformed("a line without an end")
        return data[at:]

    def _line(self, line: bytes) -> None:
        """A size, or after the last piece a trailer; a blank one ends it all."""
        if self._trailing:
            self.over = not line
            return
        size = _SIZE.fullmatch(line)
        if size is None:
            raise Malformed(f"the size {line[:80]!r}")
        self._left = int(size[1], 16)
        self._trailing = self._left == 0
        self._left += 2 if self._left else 0


def _whole_piece(data: bytes) -> bytes:
    """The piece that these bytes are, as nearly every word of a stream comes; empty for others."""
    found = _OPENS.match(data)
    if found and len(data) == found.end() + int(found[1], 16) + 2 and data.endswith(b"\r\n"):
        return data[found.end() : -2]
    return b""
