"""The real network door, against a real server that misbehaves."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.errors import Unreachable, UsageError
from meshctl.outside.http import (
    LARGEST_ANSWER,
    Deadline,
    Line,
    RealHttp,
    Request,
    Response,
    is_loopback,
)
from tests.contract.verify.scripted_server import (
    EVENTS,
    HANG,
    RESET,
    Part,
    Parts,
    ScriptedServer,
    page,
)

Ask = Callable[..., Any]
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CLOSED = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


def send(parts: Parts, *, timeout_s: float = 5.0) -> Response:
    with ScriptedServer({"GET /": [parts]}) as server:
        return RealHttp().send(Request(server.url + "/"), timeout_s=timeout_s)


def stream(parts: Parts, *, timeout_s: float = 5.0) -> list[Line]:
    with (
        ScriptedServer({"GET /": [parts]}) as server,
        RealHttp().stream(Request(server.url + "/"), timeout_s=timeout_s) as answer,
    ):
        return list(answer.lines)


def every(pause_s: float, said: bytes) -> list[Part]:
    """As good as endless: a hundred times longer than any test waits."""
    return [said, pause_s] * 1000


LATE: dict[str, list[Part]] = {
    "silent": [HANG],
    "headers, then silence": [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", HANG],
    "half a body, then silence": [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", HANG],
    "no length, then silence": [CLOSED, b"half", HANG],
    "dribbling status line": [b"HTTP/1.1 200 ", *every(0.05, b"O")],
    "dribbling headers": [b"HTTP/1.1 200 OK\r\nX: ", *every(0.05, b"x")],
    "dribbling body": [b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", *every(0.05, b"x")],
    "dribbling body without length": [CLOSED, *every(0.05, b"x")],
    "dribbling chunk": [CHUNKED + b"fff\r\n", *every(0.05, b"x")],
    "dribbling chunk size": [CHUNKED, *every(0.05, b"0")],
    "endless chunks": [CHUNKED, *every(0.05, b"1\r\nx\r\n")],
    "endless continue": [*every(0.05, b"HTTP/1.1 100 Continue\r\n\r\n")],
    "endless comments": [EVENTS, *every(0.05, b": keep-alive\n\n")],
}


@pytest.mark.parametrize("how", LATE)
@pytest.mark.parametrize("ask", [send, stream])
def test_the_deadline_holds_for_an_answer_that_is(how: str, ask: Ask) -> None:
    began = time.monotonic()

    with pytest.raises(Deadline) as late:
        ask(LATE[how], timeout_s=0.4)

    assert 0.35 < time.monotonic() - began < 1.4
    assert "within 0.4 s" in late.value.message
    assert late.value.hint and late.value.place.startswith("http://127.0.0.1")


def test_a_whole_answer_comes_back_with_its_status_headers_and_time() -> None:
    got = send([0.2, *page(404, "no", X_Mesh_Release="r-1")])

    assert (got.status, got.body, got.headers["x-mesh-release"]) == (404, b"no", "r-1")
    assert 0.2 <= got.seconds < 2
    assert not got.truncated


def test_a_redirection_is_an_answer() -> None:
    assert send(page(302, "", Location="http://127.0.0.1:1/")).status == 302


@pytest.mark.parametrize("where", ["http://[::1", "//[", "\xff", "http://a..b/"])
def test_a_redirection_to_an_impossible_place_is_an_answer(where: str) -> None:
    got = send([f"HTTP/1.1 302 Go\r\nLocation: {where}\r\n\r\nbody".encode("latin-1")])

    assert (got.status, got.body) == (302, b"body")


def test_an_endless_redirection_is_read_up_to_its_bound() -> None:
    head = b"HTTP/1.1 302 Go\r\nLocation: /\r\n\r\n"

    got = send(itertools.chain([head], itertools.repeat(b"x" * 65536)))

    assert got.truncated


def test_an_endless_answer_is_read_up_to_its_bound() -> None:
    got = send(itertools.chain([CLOSED], itertools.repeat(b"x" * 65536)))

    assert got.truncated
    assert len(got.body) == LARGEST_ANSWER


def test_an_answer_of_exactly_the_bound_is_whole() -> None:
    got = send(page(200, "x" * LARGEST_ANSWER))

    assert not got.truncated
    assert len(got.body) == LARGEST_ANSWER


def test_an_endless_stream_is_refused_at_its_bound() -> None:
    with pytest.raises(Unreachable, match="longer than 8 MiB"):
        stream(itertools.chain([EVENTS], itertools.repeat(b": " + b"x" * 65534)))


def test_a_packed_answer_is_not_unpacked() -> None:
    got = send(page(200, "not gzip at all", Content_Encoding="gzip"))

    assert got.body == b"not gzip at all"


@pytest.mark.parametrize(
    "head",
    [EVENTS, CHUNKED],
    ids=["until the connection closes", "in chunks"],
)
def test_lines_come_as_they_are_sent(head: bytes) -> None:
    def piece(text: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(text), text) if head is CHUNKED else text

    end = b"0\r\n\r\n" if head is CHUNKED else b""

    lines = stream([head, piece(b"data: 1\r\n\n: c"), 0.4, piece(b"omment\ndata: 2"), end])

    assert [line.text for line in lines] == ["data: 1", "", ": comment", "data: 2"]
    assert lines[0].at_s < 0.3 < 0.4 <= lines[2].at_s


def test_lines_before_a_cut_are_seen_and_then_the_cut() -> None:
    seen = []

    with (
        ScriptedServer({"GET /": [[CHUNKED + b"9\r\ndata: 1\n\n\r\n"]]}) as server,
        RealHttp().stream(Request(server.url + "/"), timeout_s=5) as answer,
        pytest.raises(Unreachable) as cut,
    ):
        seen += [line.text for line in itertools.islice(answer.lines, 2)]
        next(answer.lines)

    assert seen == ["data: 1", ""]
    assert not isinstance(cut.value, Deadline)


BROKEN: dict[str, list[Part]] = {
    "reset": [RESET],
    "closed": [],
    "cut in the body": [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"],
    "cut in a chunk": [CHUNKED + b"9\r\nhalf"],
    "cut between chunks": [CHUNKED + b"4\r\nhalf\r\n"],
    "reset in the body": [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 0.1, RESET],
    "no HTTP": [b"SSH-2.0-OpenSSH_10.0\r\n"],
    "no status": [b"HTTP/1.1 abc def\r\n\r\n"],
    "headers without end": [b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200],
    "a header of a megabyte": [b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2**20],
    "a chunk of no size": [CHUNKED + b"zz\r\n\r\n"],
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("ask", [send, stream])
def test_a_broken_answer_is_unreachable(how: str, ask: Ask) -> None:
    with pytest.raises(Unreachable) as broken:
        ask(BROKEN[how])

    assert not isinstance(broken.value, Deadline)
    assert broken.value.message and broken.value.hint


FRAGMENTS = (
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 302 \r\n", b"HTTP/1.0 ", b"HTTP/1.1 204 \r\n", b"999 ",
    b"\r\n", b"\r\n\r\n", b"\n",
    b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: br, gzip\r\n",
    b"Location: //[::1\r\n", b"Set-Cookie: a=\xff; expires=x\r\n", b"Connection: close\r\n", b"-1",
    b"9" * 5000, b"fffffffffffffffffff\r\n", b"0\r\n", b"4;x=y\r\nfour\r\n", b": ", b" ", b"\0",
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=6), max_size=8))
@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 307 Go\r\n", CHUNKED])
def test_any_bytes_are_an_answer_or_unreachable(head: bytes, parts: list[bytes]) -> None:
    with contextlib.suppress(Unreachable):
        assert send([head, *parts]).body is not None
    with contextlib.suppress(Unreachable):
        assert stream([head, *parts]) is not None


@pytest.mark.parametrize("size", [b"9" * 60, b"-" + b"9" * 60, b"f" * 17])
def test_a_chunk_larger_than_any_memory_is_unreachable(size: bytes) -> None:
    with pytest.raises(Unreachable):
        send([CHUNKED, size + b"\r\nfour\r\n"])
    with pytest.raises(Unreachable):
        stream([CHUNKED, size + b"\r\nfour\r\n"])


def test_garbage_among_the_headers_is_no_exception() -> None:
    got = send([b"HTTP/1.1 200 OK\r\nno colon\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\nok"])

    assert got.status == 200


def test_a_closed_port_says_what_the_system_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(Unreachable, match="Connection refused"):
        RealHttp().send(Request(f"http://127.0.0.1:{port}/"), timeout_s=5)


@pytest.mark.parametrize("url", ["http://", "http://[::1", "http://a..b/", "nowhere", "ftp://a/"])
def test_an_impossible_url_is_unreachable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")

    with pytest.raises(Unreachable):
        RealHttp().send(Request(url), timeout_s=1)


def test_loopback_bypasses_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert send(page(200, "direct")).body == b"direct"


def proxied(monkeypatch: pytest.MonkeyPatch, parts: Parts, **headers: str) -> tuple[Response, str]:
    """Asks a host that only exists behind the proxy of the environment."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with ScriptedServer({"GET http://far.example/": [parts]}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        got = RealHttp().send(Request("http://far.example/", headers=headers), timeout_s=0.5)
        return got, proxy.heard[0]


def test_other_hosts_are_asked_through_the_proxy_and_on_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert proxied(monkeypatch, page(200, "far"))[0].body == b"far"

    with pytest.raises(Deadline):
        proxied(monkeypatch, [b"HTTP/1.1 200 OK\r\nX: ", *every(0.05, b"x")])


def test_netrc_does_not_replace_our_authorization(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine far.example login somebody password else\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    _, heard = proxied(monkeypatch, page(200, "far"), Authorization="Bearer ours")

    assert "Authorization: Bearer ours" in heard


@pytest.mark.parametrize("value", ["Bearer a\nb", "Bearer a\r\nX: y", "schlüssel", " outer", "a\0"])
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(value: str) -> None:
    with pytest.raises(UsageError) as refused:
        RealHttp().send(Request("http://127.0.0.1:1/", headers={"X": value}), timeout_s=1)

    assert "header X" in refused.value.message
    assert value not in refused.value.message


def test_a_request_does_not_print_its_headers() -> None:
    assert "secret" not in repr(Request("http://a/", headers={"Authorization": "Bearer secret"}))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:80/", True),
        ("http://127.9.9.9/", True),
        ("http://localhost:80/", True),
        ("http://[::1]:80/", True),
        ("http://127.evil.example/", False),
        ("http://localhost.example/", False),
        ("http://10.0.0.1/", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_loopback_is_an_address_and_not_a_beginning(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


def test_the_time_covers_what_the_consumer_does_with_a_stream() -> None:
    with (
        ScriptedServer({"GET /": [[EVENTS, b"data: 1\n\n", HANG]]}) as server,
        RealHttp().stream(Request(server.url + "/"), timeout_s=0.4) as answer,
    ):
        assert next(answer.lines).text == "data: 1"
        time.sleep(0.6)
        with pytest.raises(Deadline):
            list(answer.lines)


def test_a_stream_may_be_left_in_the_middle() -> None:
    began = time.monotonic()

    with (
        ScriptedServer({"GET /": [[EVENTS, b"data: 1\n\n", HANG]]}) as server,
        RealHttp().stream(Request(server.url + "/"), timeout_s=30) as answer,
    ):
        next(answer.lines)

    assert time.monotonic() - began < 5
