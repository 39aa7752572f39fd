"""Commands reach a host as they are; and who cannot be reached is told from who is not himself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.errors import Refused, Unreachable
from meshctl.outside.shell import Result
from meshctl.outside.ssh import MOST_BYTES, Command, Hosts, script
from tests.contract.ssh.servers import Server, Servers, servers, wait_until_gone


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with servers(tmp_path_factory.mktemp("ssh")) as found:
        yield found


@pytest.fixture(scope="module")
def attic(some: Servers) -> Server:
    return some.start()


@pytest.fixture(scope="module")
def hosts(some: Servers, attic: Server) -> Iterator[Hosts]:
    with Hosts(some.options([attic], attic=attic)) as found:
        yield found


def test_a_command_says_what_it_says_and_how_it_ended(hosts: Hosts) -> None:
    told = hosts.run("attic", Command(("sh", "-c", "cat; echo no >&2; exit 7"), b"yes"))

    assert (told.code, told.out) == (7, "yes")
    assert told.err.endswith("no\n"), "what a shell's own start says stands before it"


@settings(deadline=None, max_examples=30)
@given(words=st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), max_size=4))
def test_words_arrive_as_they_are(hosts: Hosts, words: list[str]) -> None:
    told = hosts.run("attic", Command(("printf", "%s\\0", *words)))

    assert told.out.split("\0")[:-1] == (words or [""])


def test_a_script_is_in_no_command_line_and_gets_its_words(hosts: Hosts) -> None:
    told = hosts.run("attic", script('echo "$1|$2"; tr "\\0" " " < /proc/$$/cmdline', "a b", "$c"))

    first, _, command_line = told.out.partition("\n")
    assert first == "a b|$c"
    assert "cmdline" not in command_line and "a b" in command_line


def test_one_connection_serves_all_commands(some: Servers, attic: Server) -> None:
    before = attic.connections

    with Hosts(some.options([attic], attic=attic)) as hosts:
        for _ in range(3):
            hosts.run("attic", Command(("true",)))

    assert attic.connections == before + 1


def test_a_command_past_its_time_is_ended_and_the_connection_is_not(
    hosts: Hosts, tmp_path: Path
) -> None:
    wait = f"echo $$ > {tmp_path}/pid; exec sleep 600"

    late = hosts.run("attic", Command(("sh", "-c", wait), timeout_s=5))
    after = hosts.run("attic", Command(("echo", "still here")))

    assert (late.code, late.err) == (124, "sh did not end within 5 s")
    assert after.out == "still here\n"
    wait_until_gone(int((tmp_path / "pid").read_text()))


def test_a_command_that_says_too_much_is_ended(hosts: Hosts) -> None:
    told = hosts.run("attic", Command(("yes",)))

    assert told.code == 125 and "ended: it said more than" in told.err
    assert len(told.out) == MOST_BYTES


def test_bytes_that_are_no_text_are_marked(hosts: Hosts) -> None:
    told = hosts.run("attic", Command(("printf", "a\\377b")))

    assert told.out == "a\ufffdb"


def test_a_host_that_nobody_knows_is_refused_with_its_fingerprint(some: Servers) -> None:
    stranger = some.start()

    with Hosts(some.options([], new=stranger)) as hosts, pytest.raises(Refused) as refused:
        hosts.run("new", Command(("true",)))

    assert stranger.fingerprint in refused.value.message
    assert "is not known yet" in refused.value.message
    assert "ssh new" in refused.value.hint and refused.value.place == "new"


def test_a_host_with_another_key_is_told_from_a_new_one(some: Servers) -> None:
    impostor = some.start()
    before = replace(some.start(), port=impostor.port)

    with Hosts(some.options([before], old=impostor)) as hosts, pytest.raises(Refused) as refused:
        hosts.run("old", Command(("true",)))

    assert "NOT the host that is known by this name" in refused.value.message
    assert impostor.fingerprint in refused.value.message
    assert f"-R '[127.0.0.1]:{impostor.port}'" in refused.value.hint


def test_a_host_whose_key_is_of_another_kind_now_is_no_new_one(some: Servers) -> None:
    other = some.start(key_type="ecdsa-sha2-nistp256")
    before = replace(some.start(), port=other.port)

    with Hosts(some.options([before], old=other)) as hosts, pytest.raises(Refused) as refused:
        hosts.run("old", Command(("true",)))

    assert "NOT the host that is known by this name" in refused.value.message
    assert other.fingerprint in refused.value.message
    assert f"-R '[127.0.0.1]:{other.port}'" in refused.value.hint


def test_of_the_keys_of_a_host_the_known_one_counts(some: Servers) -> None:
    host = some.start(key_type="ssh-rsa", also="ssh-ed25519")

    with Hosts(some.options([host], host=host)) as hosts:
        told = hosts.run("host", Command(("true",)))

    assert told.code == 0


@pytest.mark.parametrize("files", ["none", "/dev/null", "/nowhere/known_hosts"])
def test_without_a_list_of_known_hosts_nobody_is_known(
    some: Servers, attic: Server, files: str
) -> None:
    [config] = some.options([attic], attic=attic)["config"]
    written = Path(config).read_text()
    Path(config).write_text(f"UserKnownHostsFile {files}\n{written}")

    with Hosts({"config": [config]}) as hosts, pytest.raises(Refused, match="not known yet"):
        hosts.run("attic", Command(("true",)))


def test_a_list_that_is_missing_beside_one_that_is_there_is_no_matter(
    some: Servers, attic: Server
) -> None:
    [config] = some.options([attic], attic=attic)["config"]
    written = Path(config).read_text()
    Path(config).write_text(written.replace("KnownHostsFile ", "KnownHostsFile /nowhere/else "))

    with Hosts({"config": [config]}) as hosts:
        assert hosts.run("attic", Command(("true",))).ok


def test_a_host_that_failed_is_tried_again(some: Servers) -> None:
    host = some.start()
    some.stop(host)

    with Hosts(some.options([host], host=host)) as hosts:
        with pytest.raises(Unreachable):
            hosts.run("host", Command(("true",)))
        back = some.start(port=host.port)
        with pytest.raises(Refused, match="NOT the host"):
            hosts.run("host", Command(("true",)))
        some.options([back], host=back)
        told = hosts.run("host", Command(("echo", "back")))

    assert told.out == "back\n"


def test_who_is_not_let_in_is_refused_not_unreachable(some: Servers, tmp_path: Path) -> None:
    with servers(tmp_path) as others:
        closed = others.start()
        with Hosts(some.options([closed], closed=closed)) as hosts, pytest.raises(Refused) as no:
            hosts.run("closed", Command(("true",)))

    assert "closed does not let us in" in no.value.message
    assert "ssh-add" in no.value.hint


def test_a_port_where_nobody_listens_and_a_name_that_is_none_are_unreachable(some: Servers) -> None:
    nobody = replace(some.start(), port=1)
    command = Command(("true",))

    with Hosts(some.options([nobody], nobody=nobody)) as hosts:
        told = hosts.run_all({"nobody": ("nobody", command)})
    with Hosts({"config": None}) as hosts:
        told |= hosts.run_all({"no name": ("no-such-host.invalid", command)})

    assert all(isinstance(error, Unreachable) for error in told.values())
    assert str(told["no name"]).endswith("the name is not known")


def test_a_host_that_hangs_up_in_the_middle_leaves_the_outcome_open(
    some: Servers, tmp_path: Path
) -> None:
    host = some.start()
    began = tmp_path / "began"

    def hang_up() -> None:
        while not began.exists():
            time.sleep(0.05)
        some.hang_up(host)

    with Hosts(some.options([host], host=host)) as hosts, pytest.raises(Unreachable) as lost:
        threading.Thread(target=hang_up, daemon=True).start()
        hosts.run("host", Command(("sh", "-c", f"touch {began}; sleep 60")))

    assert "was lost while it carried out a command" in lost.value.message
    assert "not known" in lost.value.hint


def test_one_of_many_that_fails_hides_no_other(some: Servers) -> None:
    many = [some.start() for _ in range(30)]
    names = {f"h{number}": server for number, server in enumerate(many)}
    gone, here = replace(many[0], port=1), Command(("echo", "here"))

    with Hosts(some.options([*many, gone], **names, gone=gone)) as hosts:
        told = hosts.run_all({name: (name, here) for name in (*names, "gone")})

    assert isinstance(told.pop("gone"), Unreachable)
    said = {name: (one.code, one.out) for name, one in told.items() if isinstance(one, Result)}
    assert said == dict.fromkeys(names, (0, "here\n"))
    assert [server.connections for server in many] == [1] * 30
