"""An answer is cut out of the bytes of a connection however they come, or refused."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.mesh.wire.framing import Body, Head, Malformed, read_head, whole_request

CHUNKED = Head(200, {"transfer-encoding": "chunked"}, keeps=True)
PIECES = b"5\r\nHello\r\n7;a=b\r\n, world\r\n0\r\n"


def sized(length: str) -> Head:
    return Head(200, {"content-length": length}, keeps=True)


def test_a_request_is_one_piece_with_its_length() -> None:
    request = whole_request(8080, "/v1/x?a=b", {"X-One": "1"}, b"{}")

    head = b"POST /v1/x?a=b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-One: 1\r\nContent-Length: 2"
    assert request == head + b"\r\n\r\n{}"


@pytest.mark.parametrize("value", ["a\r\nEvil: yes", "a\nEvil: yes", "a\rb"])
def test_no_header_begins_a_line_of_its_own(value: str) -> None:
    with pytest.raises(ValueError, match="line end"):
        whole_request(1, "/", {"X-One": value}, b"")


def test_a_head_says_status_headers_and_whether_the_connection_stays() -> None:
    head = read_head(b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nX-Empty:")

    assert head == Head(200, {"content-type": "a/b", "x-empty": ""}, keeps=True)
    assert not read_head(b"HTTP/1.0 200 OK").keeps
    assert not read_head(b"HTTP/1.1 503 Busy\r\nConnection: Close").keeps
    assert read_head(b"HTTP/1.1 204").status == 204


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"SSH-2.0-x",
        b"HTTP/2 200 OK",
        b"HTTP/1.1 20 OK",
        b"HTTP/1.1 200 OK\r\nno colon",
        b"HTTP/1.1 200 OK\r\n: no name",
        b"HTTP/1.1 200 OK\r\nA: 1\r\n folded",
        b"HTTP/1.1 200 OK\r\nA: 1\nB: 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2",
        b"HTTP/1.1 200 OK\r\nA: 1\x002",
        b"HTTP/1.1 200 OK\r\nA: \x1b[31m",
        b"HTTP/1.1 200 OK\r\nA B(: 1",
        b"HTTP/1.1 101 Switching Protocols",
        b"HTTP/1.1 199 Soon",
        b"HTTP/1.1 099 Never",
        b"HTTP/1.1 600 Over",
        "HTTP/1.1 \uff12\uff10\uff10 OK".encode(),
    ],
)
def test_what_is_no_head_is_refused(head: bytes) -> None:
    with pytest.raises(Malformed):
        read_head(head)


@given(st.lists(st.integers(1, len(PIECES)), max_size=6))
def test_a_chunked_body_is_the_same_however_it_is_cut(cuts: list[int]) -> None:
    whole = PIECES + b"X-Trailer: 1\r\n\r\n"
    bounds = sorted({0, len(whole), *cuts})
    body = Body(CHUNKED)

    given_out = [body.feed(whole[start:end]) for start, end in itertools.pairwise(bounds)]

    assert b"".join(given_out) == b"Hello, world"
    assert body.over and body.keeps


def test_pieces_that_come_one_by_one_pass_one_by_one() -> None:
    body = Body(CHUNKED)

    given_out = [body.feed(piece) for piece in (b"5\r\nHello\r\n", b"2\r\n\r\n\r\n", b"0\r\n\r\n")]

    assert given_out == [b"Hello", b"\r\n", b""]
    assert body.over and body.keeps


def test_a_piece_that_is_said_to_be_longer_is_waited_for() -> None:
    body = Body(CHUNKED)

    assert [body.feed(b"8\r\nHello\r\n"), body.feed(b"!\r\n")] == [b"Hello\r\n", b"!"]


def test_a_chunked_body_is_not_over_before_its_last_line() -> None:
    body = Body(CHUNKED)

    assert body.feed(PIECES) == b"Hello, world"
    assert not body.over
    assert body.feed(b"\r\n") == b""
    assert body.over


def test_a_sized_body_is_over_with_its_last_byte() -> None:
    body = Body(sized("5"))

    assert (body.feed(b"Hel"), body.over) == (b"Hel", False)
    assert (body.feed(b"lo"), body.over) == (b"lo", True)
    assert body.keeps


@pytest.mark.parametrize("head", [sized("0"), Head(204, {}, keeps=True), Head(304, {}, keeps=True)])
def test_an_empty_body_is_over_at_once(head: Head) -> None:
    body = Body(head)

    assert body.over and body.feed(b"") == b"" and body.over


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    body = Body(Head(200, {}, keeps=True))

    assert body.feed(b"all") == b"all"
    assert body.ends_with_connection and not body.over and not body.keeps


@pytest.mark.parametrize("head", [sized("2"), CHUNKED])
def test_a_connection_on_which_more_came_is_not_used_again(head: Head) -> None:
    body = Body(head)

    body.feed(b"2\r\nok\r\n0\r\n\r\nHTTP/1.1" if head is CHUNKED else b"okHTTP/1.1")

    assert body.over and not body.keeps


@pytest.mark.parametrize(
    "data",
    [b"x\r\n", b"-1\r\n", b"0x1\r\n", b"\r\n", b"2\r\nokay\r\n", b"123456789\r\n", b"1" * 5000],
)
def test_a_wrong_piece_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Body(CHUNKED).feed(data)


def test_pieces_before_a_wrong_one_are_not_lost() -> None:
    with pytest.raises(Malformed) as wrong:
        Body(CHUNKED).feed(b"3\r\none\r\n3\r\ntwo\r\nZZ\r\n")

    assert wrong.value.before == b"onetwo"


@pytest.mark.parametrize(
    "headers",
    [{"transfer-encoding": "gzip, chunked"}, {"content-length": "-1"}, {"content-length": "1 2"}],
)
def test_a_body_whose_end_is_not_known_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Malformed):
        Body(Head(200, headers, keeps=True))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        read_head(data)
    with contextlib.suppress(Malformed):
        Body(CHUNKED).feed(data)
