"""Whoever deploys hears what a front said, and never more than that."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from meshctl.errors import MeshctlError, Refused, Unreachable, UsageError
from meshctl.outside.switch import ANSWER_S, Front, Lost, Said, UnixDoor
from meshctl.spec.switch import Outcome, SwitchOrder, SwitchState
from tests.fakes.fake_clock import FakeClock

ORDER = SwitchOrder(operation="o", to="b", check_at_most=1, hold_at_most=2, drain_at_most=3)
DONE = Outcome(operation="o", to="b", outcome="switched", active="b", was="a")
STATE = SwitchState(active="a", held=0, paused_for=None, operation=None, backends=())


def fault(status: int, message: str) -> Said:
    return Said(status, f'{{"error": {{"message": "{message}"}}}}'.encode())


def said(value: Outcome | SwitchState, status: int = 200) -> Said:
    return Said(status, value.model_dump_json().encode())


class Scripted:
    """A door behind which the next answer, or failure, stands ready; the last one stays."""

    place = "the door"

    def __init__(self, *script: Said | MeshctlError) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, str, float]] = []

    def send(self, method: str, path: str, body: bytes | None, *, timeout_s: float) -> Said:
        self.asked.append((method, path, timeout_s))
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(answer, MeshctlError):
            raise answer
        return answer


def front(door: Scripted) -> Front:
    return Front(door, FakeClock())


def test_a_switch_is_waited_for_as_long_as_it_may_take() -> None:
    door = Scripted(said(DONE))

    assert front(door).switch(ORDER) == DONE
    assert door.asked == [("POST", "/switch", 6 + ANSWER_S)]


def test_a_lost_answer_is_asked_for_again_over_a_restart() -> None:
    away, under_way = Unreachable("nobody there"), said(STATE, 202)
    door = Scripted(Lost("it hung up"), away, away, under_way, said(DONE))

    assert front(door).switch(ORDER) == DONE
    assert [asked[:2] for asked in door.asked[1:]] == [("GET", "/switch/o")] * 4


def test_what_nobody_knows_any_more_is_unknown_and_never_a_success() -> None:
    door = Scripted(Lost("it hung up"), fault(404, "no operation"), said(STATE))

    outcome = front(door).switch(ORDER)

    assert (outcome.outcome, outcome.active) == ("unknown", "a")
    assert outcome.why == "it hung up; it knows nothing of operation o now"


def test_a_front_that_does_not_come_back_leaves_everything_unknown() -> None:
    door = Scripted(Lost("it hung up"), Unreachable("nobody there"))

    outcome = front(door).switch(ORDER)

    assert (outcome.outcome, outcome.active) == ("unknown", None)
    assert outcome.why == "nobody there; who serves is not known either"


def test_an_order_that_did_not_arrive_is_no_outcome() -> None:
    door = Scripted(Unreachable("nobody there"))

    with pytest.raises(Unreachable, match="nobody there"):
        front(door).switch(ORDER)
    assert len(door.asked) == 1


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (fault(400, "to: missing"), UsageError, "to: missing"),
        (fault(404, "no backend named 'b'"), Refused, "no backend named 'b'"),
        (fault(409, "busy"), Refused, "busy"),
        (fault(500, "not kept"), Lost, "not kept"),
        (Said(409, b"[" * 10**6), Lost, "status 409"),
        (Said(409, b'{"error": {"message": 7}}'), Lost, "status 409"),
        (Said(200, b"<html>"), Lost, "1 mistakes in SwitchState"),
        (Said(200, b"{}"), Lost, "5 mistakes in SwitchState"),
    ],
)
def test_a_refusal_is_told_with_its_words_and_nonsense_as_nonsense(
    answer: Said, error: type[MeshctlError], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        front(Scripted(answer)).resume()

    assert raised.value.place == "the door" and raised.value.hint


@contextmanager
def listening(path: Path, *data: bytes) -> Iterator[threading.Event]:
    """Somebody who takes one question, says this, and keeps the line until the event is set."""
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            with server.accept()[0] as caller:
                caller.recv(2**16)
                for part in data:
                    caller.sendall(part)
                if not data:
                    over.wait(30)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield over
        finally:
            over.set()
            thread.join()


def test_nobody_at_the_socket_is_told_apart_from_one_who_hung_up(tmp_path: Path) -> None:
    door = UnixDoor(str(tmp_path / "s"))

    with pytest.raises(Unreachable, match="no mesh listens there") as nobody:
        door.send("GET", "/state", None, timeout_s=20)
    with listening(tmp_path / "s", b"HTTP/1.1 200 OK\r\nContent-Le"), pytest.raises(Lost):
        door.send("GET", "/state", None, timeout_s=20)

    assert not isinstance(nobody.value, Lost)


def test_an_answer_that_does_not_come_ends_with_its_time(tmp_path: Path) -> None:
    with listening(tmp_path / "s"), pytest.raises(Lost, match=r"no whole answer within 0\.2 s"):
        UnixDoor(str(tmp_path / "s")).send("GET", "/state", None, timeout_s=0.2)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort",
    ],
)
def test_an_answer_that_is_none_is_lost(data: bytes, tmp_path: Path) -> None:
    with listening(tmp_path / "s", data), pytest.raises(Lost):
        UnixDoor(str(tmp_path / "s")).send("GET", "/state", None, timeout_s=20)
