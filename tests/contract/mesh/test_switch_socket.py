"""The admin socket is its owner's, and nonsense that comes over it changes nothing."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from meshctl.errors import Refused, UsageError
from meshctl.mesh.switch.socket import opened
from meshctl.outside.switch import UnixDoor
from meshctl.spec.switch import Backend
from tests.contract.mesh.mesh_processes import Launcher, environment, fails_with
from tests.contract.mesh.switch_fronts import Fronted

GOOD = {"name": "a", "url": "http://127.0.0.1:9", "models": ["m"]}
ORDER = {"operation": "o", "to": "a"}


@pytest.fixture(scope="module")
def front(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Fronted:
    return Fronted(launch, tmp_path_factory.mktemp("front"))


def test_only_the_owner_may_open_it(front: Fronted) -> None:
    found = front.socket.stat()

    assert stat.S_ISSOCK(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o600


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/backends", b"", 400, "Invalid JSON"),
        ("/backends", b"\xff\xfe{", 400, "Invalid JSON"),
        ("/backends", b"[" * 100_000, 400, "Invalid JSON"),
        ("/backends", b"[]", 400, "should be an object"),
        ("/backends", b"x" * 300_000, 413, "larger than 262144 bytes"),
        ("/backends", GOOD | {"name": "../a"}, 400, "name: String should match"),
        ("/backends", GOOD | {"name": "a\n"}, 400, "name: String should match"),
        ("/backends", GOOD | {"url": "file:///etc/passwd"}, 400, "url: String should match"),
        ("/backends", GOOD | {"url": "http://u:p@h"}, 400, "url: String should match"),
        ("/backends", GOOD | {"url": "http://h/"}, 400, "must not end with a slash"),
        ("/backends", GOOD | {"models": []}, 400, "models: Tuple should have at least 1"),
        ("/backends", GOOD | {"models": ["a b"]}, 400, "models.0: String should match"),
        ("/backends", GOOD | {"ready": "//h\r\nX: 1"}, 400, "ready: String should match"),
        ("/backends", GOOD | {"more": 1}, 400, "more: Extra inputs"),
        ("/switch", ORDER, 404, "no backend named 'a'"),
        ("/switch", ORDER | {"operation": "/../o"}, 400, "operation: String should match"),
        ("/switch", ORDER | {"check_at_most": "soon"}, 400, "'soon' is not a duration"),
        ("/switch", ORDER | {"hold_at_most": -1}, 400, "hold_at_most: Input should be greater"),
        ("/switch", b'{"operation":"o","to":"a","drain_at_most":NaN}', 400, "drain_at_most"),
        ("/switch", ORDER | {"drain_at_most": "400d"}, 400, "less than or equal to 86400"),
        ("/switch", ORDER | {"check": "yes"}, 400, "check: Input should be a valid boolean"),
        ("/pause", {}, 400, "hold_at_most: Field required"),
        ("/drain", {"at_most": "1s"}, 404, "no backend is active"),
        ("/drain", {"at_most": "1s", "backend": "b"}, 404, "no backend named 'b'"),
        ("/nowhere", {}, 404, "there is nothing at /nowhere"),
    ],
)
def test_nonsense_is_refused_with_its_reason_and_changes_nothing(
    front: Fronted, path: str, body: bytes | dict[str, object], status: int, said: str
) -> None:
    door = UnixDoor(str(front.socket))
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()

    answer = door.send("POST", path, sent, timeout_s=20)

    assert answer.status == status, answer
    assert said in json.loads(answer.body)["error"]["message"]
    state = front.ask.state()
    assert (state.backends, state.active, state.paused_for) == ((), None, None)


@pytest.mark.parametrize("name", ["nobody", "..%2Fa", "%00", "a%0D%0AX:%201", "%F0%9F%A6%99"])
def test_a_strange_name_in_a_path_is_nobody(front: Fronted, name: str) -> None:
    door = UnixDoor(str(front.socket))

    answers = [
        door.send("DELETE", f"/backends/{name}", None, timeout_s=20).status,
        door.send("GET", f"/backends/{name}/check", None, timeout_s=20).status,
        door.send("GET", f"/switch/{name}", None, timeout_s=20).status,
    ]

    assert answers == [404, 404, 404]


def test_what_is_no_http_ends_with_an_answer_and_the_mesh_lives(front: Fronted) -> None:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(front.socket))
        caller.settimeout(20)
        caller.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        data = b""
        while more := caller.recv(2**16):
            data += more

    assert data.startswith(b"HTTP/1.0 400")
    assert front.ask.state().active is None


def test_the_list_of_backends_has_an_end(launch: Launcher, tmp_path: Path) -> None:
    front = Fronted(launch, tmp_path)
    for number in range(32):
        front.ask.add(Backend(name=f"b{number}", url="http://127.0.0.1:9", models=("m",)))

    with pytest.raises(Refused, match="32 backends are known"):
        front.ask.add(Backend(name="more", url="http://127.0.0.1:9", models=("m",)))
    front.ask.remove("b7")
    state = front.ask.add(Backend(name="more", url="http://127.0.0.1:9", models=("m",)))

    assert len(state.backends) == 32


def file_there(path: Path) -> None:
    path.write_text("precious")


def link_there(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


def open_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def no_folder(path: Path) -> None:
    path.parent.rmdir()


def strangers(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    os.chown(path, 65534, 65534)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket away")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (file_there, "is there, and is no socket"),
        (link_there, "is there, and is no socket"),
        (open_folder, "others may put something in the place of what is there"),
        (no_folder, "No such file or directory"),
        pytest.param(strangers, "is somebody else's", marks=needs_root),
    ],
)
def test_a_place_that_is_not_ours_is_not_taken(
    prepare: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    path = tmp_path / "run" / "admin.sock"
    prepare(path)

    with pytest.raises(UsageError, match=message) as refused:
        opened(path)

    assert refused.value.hint == "set MESH_ADMIN_SOCKET anew"
    assert path.parent.exists() == (prepare is not no_folder), "nothing is made, nothing is removed"


def test_a_mesh_whose_socket_cannot_be_opened_ends_with_64(tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    file_there(path)

    places = {"MESH_ADMIN_SOCKET": str(path), "MESH_SWITCH_FILE": str(tmp_path / "f")}
    code, log = fails_with(tmp_path / "log", environment([], **places))

    assert code == 64
    assert f"{path}: is there, and is no socket" in log
    assert path.read_text() == "precious"


def test_a_socket_that_a_killed_mesh_left_is_replaced_and_one_in_use_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "admin.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    with opened(path) as ours:
        ours.listen()
        with pytest.raises(UsageError, match="somebody listens there already"):
            opened(path)

        assert path.exists()
