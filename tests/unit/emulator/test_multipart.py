"""Multipart uploads are read as every client writes them."""

from __future__ import annotations

import pytest

from meshctl.emulator.failures import ApiError
from meshctl.emulator.storage.multipart import parse

DATA = bytes(range(256)) + b"\r\n--not-the-mark\r\n\n"


def body(mark: str, end: bytes) -> bytes:
    head = b"--" + mark.encode() + end
    parts = [
        b"Content-Type: application/json" + end * 2 + b'{"name": "a"}' + end,
        b"Content-Type: application/gzip" + end + b"X: y" + end * 2 + DATA + end,
    ]
    return head + head.join(parts) + b"--" + mark.encode() + b"--"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_both_line_ends_and_all_quotes_are_understood(end: bytes, quote: str) -> None:
    kind = f"multipart/related; boundary={quote}==x=={quote}"

    found = parse(kind, body("==x==", end))

    assert found.attributes == {"name": "a"}
    assert (found.data, found.content_type) == (DATA, "application/gzip")


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("multipart/related", b""),
        ("multipart/related; boundary=x", b""),
        ("multipart/related; boundary=x", b"--x\n\n{}\n--x--"),
        ("multipart/related; boundary=x", b"--x\n\n[]\n--x\n\nd\n--x--"),
        ("multipart/related; boundary=x", b"--x\n\n{\n--x\n\nd\n--x--"),
        ("multipart/related; boundary=x", b"--x no end --x no end --x--"),
    ],
)
def test_anything_else_is_refused(kind: str, data: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        parse(kind, data)

    assert refused.value.http == 400
