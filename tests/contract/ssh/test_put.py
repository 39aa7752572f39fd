"""A file on a host is written whole or not at all, and only over what was known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meshctl.errors import Refused
from meshctl.outside.ssh import Command, Hosts
from meshctl.outside.ssh_put import writing
from tests.contract.ssh.servers import servers

HOSTILE = (
    "a b",
    "$(touch owned)",
    "`id`",
    "it's",
    'a"b',
    "-n",
    "new\nline",
    "back\\slash",
    "é*?[x]",
)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with servers(tmp_path_factory.mktemp("put")) as some:
        attic = some.start()
        with Hosts(some.options([attic], attic=attic)) as found:
            yield found


def sum_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def test_a_new_file_is_there_with_its_bytes_and_its_mode(hosts: Hosts, tmp_path: Path) -> None:
    data = bytes(range(256)) * 1000 + b"no newline at the end"

    hosts.put("attic", f"{tmp_path}/unit", data, 0o640, replaces=None)

    assert (tmp_path / "unit").read_bytes() == data
    assert (tmp_path / "unit").stat().st_mode & 0o7777 == 0o640
    assert os.listdir(tmp_path) == ["unit"], "no draft is left"


def test_what_was_read_before_is_replaced(hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "unit").write_bytes(b"old")

    hosts.put("attic", f"{tmp_path}/unit", b"new", 0o644, replaces=sum_of(b"old"))

    assert (tmp_path / "unit").read_bytes() == b"new"


def test_written_twice_is_written_once(hosts: Hosts, tmp_path: Path) -> None:
    for _ in range(2):
        hosts.put("attic", f"{tmp_path}/unit", b"new", 0o600, replaces=None)
    before = (tmp_path / "unit").stat().st_ino
    hosts.put("attic", f"{tmp_path}/unit", b"new", 0o644, replaces=sum_of(b"older"))

    after = (tmp_path / "unit").stat()
    assert (after.st_ino, after.st_mode & 0o777) == (before, 0o644)


@pytest.mark.parametrize("replaces", [None, sum_of(b"another")])
def test_what_somebody_else_wrote_stays(hosts: Hosts, tmp_path: Path, replaces: str | None) -> None:
    (tmp_path / "unit").write_bytes(b"theirs")

    with pytest.raises(Refused) as no:
        hosts.put("attic", f"{tmp_path}/unit", b"ours", 0o644, replaces=replaces)

    assert (tmp_path / "unit").read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["unit"]
    assert f"{tmp_path}/unit on attic" in no.value.message
    assert sum_of(b"theirs") in no.value.message and no.value.place == "attic"


def test_what_is_gone_is_not_replaced(hosts: Hosts, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is nothing"):
        hosts.put("attic", f"{tmp_path}/unit", b"ours", 0o644, replaces=sum_of(b"old"))

    assert os.listdir(tmp_path) == []


def test_neither_links_nor_folders_are_replaced(hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()

    with pytest.raises(Refused, match="there is a link"):
        hosts.put("attic", f"{tmp_path}/link", b"ours", 0o644, replaces=None)
    with pytest.raises(Refused, match="there is no file"):
        hosts.put("attic", f"{tmp_path}/folder", b"ours", 0o644, replaces=None)

    assert (tmp_path / "link").is_symlink() and os.listdir(tmp_path / "folder") == []


def test_a_folder_that_is_missing_is_named(hosts: Hosts, tmp_path: Path) -> None:
    with pytest.raises(Refused) as no:
        hosts.put("attic", f"{tmp_path}/none/unit", b"ours", 0o644, replaces=None)

    assert f"{tmp_path}/none/unit on attic was not written" in no.value.message
    assert "its folder is not there" in no.value.message


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_path_is_a_path(hosts: Hosts, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()

    hosts.put("attic", f"{folder}/{name}", b"one", 0o644, replaces=None)
    hosts.put("attic", f"{folder}/{name}", b"two", 0o644, replaces=sum_of(b"one"))

    assert (folder / name).read_bytes() == b"two"
    assert (os.listdir(tmp_path), os.listdir(folder)) == ([name], [name])


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=3000))
def test_any_bytes_arrive_as_they_are(hosts: Hosts, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "any"
    replaces = sum_of(file.read_bytes()) if file.exists() else None

    hosts.put("attic", str(file), data, 0o600, replaces=replaces)

    assert file.read_bytes() == data


def test_what_does_not_come_whole_is_not_written(hosts: Hosts, tmp_path: Path) -> None:
    whole = writing(f"{tmp_path}/unit", b"the whole of it", 0o644, None)

    told = hosts.run("attic", Command(whole.argv, b"the who"))

    assert (told.code, os.listdir(tmp_path)) == (65, [])
    assert "it did not come whole" in told.err


def test_the_data_is_in_no_command_line() -> None:
    command = writing("/etc/unit", b"TOKEN=secret", 0o600, None)

    assert "secret" not in " ".join(command.argv)


@pytest.mark.parametrize("path", ["unit", "/etc/", "/etc/..", "/a\0b", ""])
def test_a_path_that_names_no_file_is_a_mistake_of_ours(path: str) -> None:
    with pytest.raises(ValueError, match="not the absolute path"):
        writing(path, b"", 0o600, None)
