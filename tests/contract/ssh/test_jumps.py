"""Through jump hosts: whose key was wrong is said of him, and one connection serves all behind."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.ssh import Command, Hosts
from meshctl.outside.ssh_connections import HANDSHAKES, THROUGH_ONE
from tests.contract.ssh.servers import Server, Servers, servers

HERE = Command(("echo", "here"))


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("jumps")) as found:
        yield found


@pytest.fixture(scope="module")
def attic(some: Servers) -> Server:
    return some.start()


def refused(hosts: Hosts, address: str) -> MeshctlError:
    with pytest.raises(Refused) as no:
        hosts.run(address, HERE)
    return no.value


def test_hosts_behind_one_jump_host_share_one_connection_to_it(
    some: Servers, attic: Server
) -> None:
    gate, cellar = some.start(), some.start()
    jumps = {"attic": "gate", "cellar": "gate"}
    options = some.options([gate, attic, cellar], jumps, gate=gate, attic=attic, cellar=cellar)

    with Hosts(options) as hosts:
        told = hosts.run_all({name: (name, HERE) for name in jumps})

    assert [(one.code, one.out) for one in told.values()] == [(0, "here\n")] * 2  # type: ignore[union-attr]
    assert gate.connections == 1


def test_a_list_of_jump_hosts_is_gone_along_in_its_order(some: Servers, attic: Server) -> None:
    first, second = some.start(), some.start()
    jumps = {"attic": f"first,127.0.0.1:{second.port}"}
    options = some.options([first, second, attic], jumps, first=first, attic=attic)

    with Hosts(options) as hosts:
        told = hosts.run("attic", HERE)

    assert told.out == "here\n"
    assert (first.connections, second.connections) == (1, 1)


def test_a_jump_host_that_nobody_knows_is_named_and_not_the_host_behind(
    some: Servers, attic: Server
) -> None:
    gate = some.start()
    options = some.options([attic], {"attic": "gate"}, gate=gate, attic=attic)

    with Hosts(options) as hosts:
        error = refused(hosts, "attic")

    assert "attic is behind gate: gate is not known yet" in error.message
    assert gate.fingerprint in error.message and error.place == "gate"
    assert "ssh gate true" in error.hint and "ssh-keygen -R" not in error.hint


def test_a_jump_host_with_another_key_is_named_and_not_the_host_behind(
    some: Servers, attic: Server
) -> None:
    gate = some.start()
    before = replace(some.start(), port=gate.port)
    options = some.options([before, attic], {"attic": "gate"}, gate=gate, attic=attic)

    with Hosts(options) as hosts:
        error = refused(hosts, "attic")

    assert "gate is NOT the host that is known by this name" in error.message
    assert f"[127.0.0.1]:{gate.port}" in error.hint
    assert str(attic.port) not in error.hint, "whose key is good keeps it"


def test_the_host_behind_is_named_where_its_own_key_has_changed(some: Servers) -> None:
    gate, host = some.start(), some.start()
    before = replace(some.start(), port=host.port)
    options = some.options([gate, before], {"host": "gate"}, gate=gate, host=host)

    with Hosts(options) as hosts:
        error = refused(hosts, "host")

    assert error.message.startswith("host is NOT the host that is known by this name")
    assert host.fingerprint in error.message and error.place == "host"


def test_a_jump_host_where_nobody_listens_is_what_cannot_be_reached(
    some: Servers, attic: Server
) -> None:
    gate = replace(some.start(), port=1)
    options = some.options([attic], {"attic": "gate"}, gate=gate, attic=attic)

    with Hosts(options) as hosts, pytest.raises(Unreachable) as away:
        hosts.run("attic", HERE)

    assert "gate cannot be reached: nobody listens at its port" in away.value.message


def test_a_host_where_nobody_listens_behind_a_jump_host_is_unreachable(some: Servers) -> None:
    gate = some.start()
    nobody = replace(some.start(), port=1)
    options = some.options([gate, nobody], {"nobody": "gate"}, gate=gate, nobody=nobody)

    with Hosts(options) as hosts, pytest.raises(Unreachable) as away:
        hosts.run("nobody", HERE)

    assert away.value.message.startswith("nobody cannot be reached")


def test_jump_hosts_that_lead_in_a_circle_are_refused(some: Servers, attic: Server) -> None:
    jumps = {"one": "two", "two": "one", "own": "own"}
    options = some.options([attic], jumps, one=attic, two=attic, own=attic)

    with Hosts(options) as hosts:
        told = hosts.run_all({name: (name, HERE) for name in jumps})

    assert all(isinstance(error, Refused) for error in told.values())
    assert "in a circle: one -> two -> one" in str(told["one"])


def test_a_port_is_forwarded_through_the_jump_host(some: Servers, attic: Server) -> None:
    gate = some.start()
    options = some.options([gate, attic], {"attic": "gate"}, gate=gate, attic=attic)

    with Hosts(options) as hosts:
        port = hosts.forward("attic", "127.0.0.1", attic.port)
        with socket.create_connection(("127.0.0.1", port), 60) as line:
            banner = line.makefile("rb").readline()

    assert banner.startswith(b"SSH-2.0-")
    assert gate.connections == 1


class Silent:
    """A listener that lets nobody in: it holds `most` connections, waits whether more come, and
    hangs up on them; `peak` is the most that were there at once."""

    def __init__(self, most: int, total: int) -> None:
        self.most, self.left, self.peak = most, total, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = int(self.listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self.left:
            held = [self._accept(120) for _ in range(min(self.most, self.left))]
            while (more := self._accept(0.5)) is not None:
                held.append(more)
            self.peak, self.left = max(self.peak, len(held)), max(self.left - len(held), 0)
            for line in held:
                if line is not None:
                    line.close()

    def _accept(self, longest_s: float) -> socket.socket | None:
        ready, _, _ = select.select([self.listener], [], [], longest_s)
        return self.listener.accept()[0] if ready else None


@contextmanager
def silent(most: int, total: int) -> Iterator[Silent]:
    found = Silent(most, total)
    try:
        yield found
    finally:
        found.listener.close()


def test_fifty_connections_are_made_at_once_and_no_more(some: Servers, attic: Server) -> None:
    names = [f"h{number}" for number in range(120)]

    with silent(HANDSHAKES, len(names)) as wall:
        at = replace(attic, port=wall.port)
        with Hosts(some.options([], **dict.fromkeys(names, at))) as hosts:
            told = hosts.run_all({name: (name, HERE) for name in names})

    assert wall.peak == HANDSHAKES == 50
    assert all(isinstance(error, Unreachable) for error in told.values())


def test_eight_go_through_one_jump_host_at_once_and_no_more(some: Servers, attic: Server) -> None:
    gate = some.start()
    names = [f"h{number}" for number in range(20)]

    with silent(THROUGH_ONE, len(names)) as wall:
        at = replace(attic, port=wall.port)
        jumps = dict.fromkeys(names, "gate")
        options = some.options([gate], jumps, gate=gate, **dict.fromkeys(names, at))
        with Hosts(options) as hosts:
            told = hosts.run_all({name: (name, HERE) for name in names})

    assert wall.peak == THROUGH_ONE == 8
    assert all(isinstance(error, Unreachable) for error in told.values())
    assert gate.connections == 1
