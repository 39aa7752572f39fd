"""Until a peer gave an event, the next peer or the own engine may still answer."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.contract.mesh.listening import Listener, error_of, words
from tests.contract.mesh.mesh_processes import Launcher, scripted, wait_until

ACCEPTED = b": accepted; queued position 3\n\n"
HELLO = b'data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
DOWN = b'data: {"error":{"message":"no engine","type":"unavailable_error","code":"x"}}\n\n'
TOO_LONG = b'data: {"error":{"message":"too long","type":"invalid_request_error"}}\n\n'


@dataclass
class Peer:
    """Streams these events to whoever asks, then breaks off: after `silent` is set, if it is."""

    events: tuple[bytes, ...]
    status: int = 200
    silent: bool = False
    url: str = ""
    asked: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def answer(self, connection: socketserver.StreamRequestHandler) -> None:
        length = 0
        while (line := connection.rfile.readline().lower()) not in (b"\r\n", b""):
            length = int(line[15:]) if line.startswith(b"content-length:") else length
        connection.rfile.read(length)
        self.asked += 1
        head = f"HTTP/1.1 {self.status} x\r\nContent-Type: text/event-stream\r\n"
        connection.wfile.write(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        for event in self.events:
            connection.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        if DONE in self.events or self.status != 200:
            connection.wfile.write(b"0\r\n\r\n")
        if self.silent:
            self.over.wait(60)


Start = Callable[[Peer], Peer]


@pytest.fixture
def start() -> Iterator[Start]:
    servers = []

    def begin(peer: Peer) -> Peer:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                peer.answer(self)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread, peer))
        peer.url = f"http://127.0.0.1:{server.server_address[1]}"
        return peer

    yield begin
    for server, thread, peer in servers:
        peer.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def peers(*these: Peer, models: str = "far") -> dict[str, str]:
    """In this order; the first may be one that takes any model."""
    of = [models] + ["far"] * (len(these) - 1)
    entries = [f"p{n}={peer.url}|{of[n]}|{n}" for n, peer in enumerate(these)]
    return {"MESH_FEDERATION_PEERS": ",".join(entries)}


@pytest.mark.parametrize("events", [(ACCEPTED,), (ACCEPTED, DOWN), (DOWN,)])
def test_a_peer_that_took_the_request_and_gave_up_gives_way_to_the_next(
    launch: Launcher, start: Start, events: tuple[bytes, ...]
) -> None:
    ill, well = start(Peer(events)), start(Peer((HELLO, DONE)))
    front = launch([], **peers(ill, well))

    listener = Listener(front, "far")

    assert words(listener.all()) == "hello" and listener.ended == "clean"
    assert (ill.asked, well.asked) == (1, 1)
    assert 'mesh_peer_up{peer="p1"} 1' in front.get("/metrics").text


def test_where_the_only_peer_gives_up_the_model_is_loaded_here(
    launch: Launcher, start: Start
) -> None:
    ill = start(Peer((ACCEPTED, DOWN)))
    models = [scripted("near", default=True), scripted("far", "--reply", "here")]
    front = launch(models, **peers(ill))

    listener = Listener(front, "far")

    assert words(listener.all()) == "here" and listener.ended == "clean"
    assert ill.asked == 1


def test_a_peer_that_says_accepted_and_then_nothing_is_not_waited_for_without_end(
    launch: Launcher, start: Start
) -> None:
    mute, well = start(Peer((ACCEPTED,), silent=True)), start(Peer((HELLO, DONE)))
    front = launch([], **peers(mute, well), MESH_PEER_TIMEOUT="1s", MESH_KEEPALIVE="200ms")

    listener = Listener(front, "far")

    listener.until(b"queued position 3")
    assert words(listener.all()) == "hello" and listener.ended == "clean"
    assert 'mesh_peer_up{peer="p0"} 0' in front.get("/metrics").text


@pytest.mark.parametrize(
    ("events", "code"), [((ACCEPTED,), "upstream_timeout"), ((HELLO,), "upstream_cut")]
)
def test_the_silence_of_the_only_peer_is_an_error_in_the_end(
    launch: Launcher, start: Start, events: tuple[bytes, ...], code: str
) -> None:
    mute = start(Peer(events, silent=True))
    front = launch([], **peers(mute), MESH_PEER_TIMEOUT="1s")

    listener = Listener(front, "far")

    assert error_of(listener.all())["code"] == code
    assert listener.ended == "cut"


def test_an_error_of_the_request_itself_is_not_taken_elsewhere(
    launch: Launcher, start: Start
) -> None:
    strict, well = start(Peer((ACCEPTED, TOO_LONG))), start(Peer((HELLO, DONE)))
    front = launch([], **peers(strict, well))

    listener = Listener(front, "far")

    assert error_of(listener.all())["message"] == "too long"
    assert (strict.asked, well.asked) == (1, 0)


@pytest.mark.parametrize("status", [404, 508])
def test_a_peer_that_takes_any_model_does_not_hide_the_one_that_has_it(
    launch: Launcher, start: Start, status: int
) -> None:
    any_model, well = start(Peer((b"{}",), status=status)), start(Peer((HELLO, DONE)))
    front = launch([], **peers(any_model, well, models="*"), MESH_KEEPALIVE_GRACE="30s")

    answer = front.chat(model="far", stream=True)

    assert (answer.status_code, answer.headers["x-mesh-peer"]) == (200, "p1")
    assert words(answer.content) == "hello"
    assert 'mesh_peer_up{peer="p0"} 1' in front.get("/metrics").text


def test_a_peer_that_breaks_off_every_time_is_left_alone_for_longer_and_longer(
    launch: Launcher, start: Start
) -> None:
    cutting, well = start(Peer((HELLO,))), start(Peer((HELLO, DONE)))
    front = launch([], **peers(cutting, well))

    def broke_off() -> bool:
        listener = Listener(front, "far")
        listener.all()
        return listener.ended == "cut"

    assert broke_off()
    assert 'mesh_peer_up{peer="p0"} 0' in front.get("/metrics").text
    wait_until(lambda: broke_off() and cutting.asked >= 3, 30)
    assert well.asked > cutting.asked, "most went by it"
