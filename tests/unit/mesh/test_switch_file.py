"""What a switch must not forget is in one file, whole, and only a file of our own is believed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from meshctl.errors import UsageError
from meshctl.mesh.settings import read_settings
from meshctl.mesh.switch.events import Remembered
from meshctl.mesh.switch.shelf import LARGEST, Shelf
from meshctl.spec.switch import Backend, Outcome

A = Backend(name="a", url="http://127.0.0.1:1", models=("m",), context=4096)
DONE = Outcome(operation="o", to="a", outcome="switched", active="a", was=None)
KEPT = Remembered("a", (A,), (DONE,))
PLACES = {"MESH_ADMIN_SOCKET": "/run/mesh/s", "MESH_SWITCH_FILE": "/var/lib/mesh/f"}


def test_what_was_kept_is_read_again_and_others_cannot_read_it(tmp_path: Path) -> None:
    path = tmp_path / "switch.json"
    with closing(Shelf(path)) as shelf:
        assert shelf.read() == Remembered()
        assert shelf.write(KEPT) == ("saved", "")
        assert shelf.write(KEPT) == ("saved", "")

    with closing(Shelf(path)) as again:
        assert again.read() == KEPT
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == [".switch.json.lock", "switch.json"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "switch.json"
    with closing(Shelf(path)) as shelf:
        shelf.write(KEPT)
        (tmp_path / ".switch.json.new").mkdir()

        end, why = shelf.write(Remembered())

        assert end == "failed" and why.startswith(f"{path}: ")
        assert shelf.read() == KEPT


def open_to_all(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0o666)


def linked(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.write_bytes(b" " * (LARGEST + 1))


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (open_to_all, "others may write it"),
        (linked, "cannot be used: Too many levels"),
        (folder, "cannot be used: Is a directory"),
        (pipe, "is no file"),
        (endless, "is larger than"),
    ],
)
def test_a_file_that_is_not_ours_is_refused(
    prepare: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "switch.json"
    prepare(path)

    with closing(Shelf(path)) as shelf, pytest.raises(UsageError, match=message) as refused:
        shelf.read()

    assert refused.value.place == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Invalid JSON: EOF while parsing a value at line 1 column 0"),
        ("[" * 5000, "Invalid JSON: recursion limit"),
        ('{"version": 2, "active": null, "backends": [], "outcomes": []}', "version: Input"),
        ('{"version": 1, "active": null, "backends": []}', "outcomes: Field required"),
        ('{"version": 1, "active": "a", "backends": [], "outcomes": []}', "active: no backend"),
        (
            '{"version": 1, "active": null, "backends": [{"name": "a", "url": "x"}],'
            ' "outcomes": []}',
            r"backends\.0\.url: String should match",
        ),
        (
            '{"version": 1, "active": null, "outcomes": [], "backends": ['
            '{"name": "a", "url": "http://h", "models": ["m"]},'
            '{"name": "a", "url": "http://i", "models": ["m"]}]}',
            "backends: 'a' is there 2 times",
        ),
    ],
)
def test_a_damaged_file_is_never_guessed_at(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "switch.json"
    path.write_text(text)

    with closing(Shelf(path)) as shelf, pytest.raises(UsageError, match=message):
        shelf.read()

    assert path.read_text() == text


def test_a_folder_that_others_may_write_holds_no_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)

    with pytest.raises(UsageError, match="others may put something") as refused:
        Shelf(tmp_path / "f")

    assert refused.value.hint == "set MESH_SWITCH_FILE anew"


def test_only_one_mesh_has_the_file(tmp_path: Path) -> None:
    with (
        closing(Shelf(tmp_path / "f")),
        pytest.raises(UsageError, match="another mesh uses it"),
    ):
        Shelf(tmp_path / "f")

    Shelf(tmp_path / "f").close()


def test_a_front_needs_a_socket_and_a_file_and_no_model() -> None:
    settings = read_settings(PLACES | {"MESH_DEFAULT_MODEL": "later"})

    assert settings.switch
    assert (str(settings.switch.socket), str(settings.switch.file)) == tuple(PLACES.values())
    assert settings.default_model == "later"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"MESH_ADMIN_SOCKET": ""}, "MESH_ADMIN_SOCKET: is not set, and MESH_SWITCH_FILE is"),
        ({"MESH_SWITCH_FILE": ""}, "MESH_SWITCH_FILE: is not set, and MESH_ADMIN_SOCKET is"),
        ({"MESH_SWITCH_FILE": "f"}, "'f' is not an absolute path"),
        ({"MESH_ADMIN_SOCKET": "/" + "s" * 107}, "is longer than 107 bytes"),
        ({"MESH_SWITCH_FILE": "/run/mesh/s"}, "is the path of the socket, too"),
    ],
)
def test_a_place_that_cannot_be_meant_is_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_settings(PLACES | changed)
