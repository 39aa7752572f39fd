"""What was sent once is not sent again, whoever began to send it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshctl.build.request import BuildRequest, Doors
from meshctl.build.run import build
from meshctl.build.send import sent
from meshctl.errors import CheckFailed, Refused, Unreachable

Asked = Callable[..., BuildRequest]
DIGEST = "d" * 64


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "source.tgz"
    path.write_bytes(b"packed")
    return path


def silent(event: str, **details: Any) -> None:
    """Nobody wants to know."""


def test_a_session_that_was_cut_off_is_carried_on(
    asked: Asked, doors: Doors, archive: Path
) -> None:
    doors.uploads.cut = 1
    with pytest.raises(Unreachable):
        sent(asked(), doors, archive, DIGEST, silent)

    found = sent(asked(), doors, archive, DIGEST, silent)

    assert found.bytes == 6
    assert doors.uploads.sessions == 1
    assert doors.uploads.sent == [doors.uploads.sent[0]] * 2


def test_a_session_that_is_over_is_replaced(asked: Asked, doors: Doors, archive: Path) -> None:
    doors.uploads.cut = 1
    with pytest.raises(Unreachable):
        sent(asked(), doors, archive, DIGEST, silent)
    doors.uploads.over.add(doors.uploads.sent[0])

    def reopened(bucket: str, name: str, size: int) -> str:
        doors.uploads.over.clear()
        return f"{bucket} {name}"

    doors.uploads.open_session = reopened

    assert sent(asked(), doors, archive, DIGEST, silent).bytes == 6


def test_an_object_that_is_there_is_not_sent_again(
    asked: Asked, doors: Doors, archive: Path
) -> None:
    first = sent(asked(), doors, archive, DIGEST, silent)

    again = sent(asked(), doors, archive, DIGEST, silent)

    assert again == first
    assert len(doors.uploads.sent) == 1


def test_an_object_of_other_bytes_is_not_built_from(
    asked: Asked, doors: Doors, archive: Path
) -> None:
    found = sent(asked(), doors, archive, DIGEST, silent)
    doors.uploads.objects[found.bucket, found.name] = b"theirs"

    with pytest.raises(CheckFailed, match="expected 6 bytes"):
        sent(asked(), doors, archive, DIGEST, silent)


def test_a_session_is_for_its_owners_eyes_only(asked: Asked, doors: Doors, archive: Path) -> None:
    doors.uploads.cut = 1
    with pytest.raises(Unreachable):
        sent(asked(), doors, archive, DIGEST, silent)

    (kept,) = doors.sessions.folder.glob("*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    sent(asked(), doors, archive, DIGEST, silent)
    assert not kept.exists()


def test_one_process_sends_an_object_at_a_time(asked: Asked, doors: Doors, archive: Path) -> None:
    def beside(event: str, **details: Any) -> None:
        with pytest.raises(Refused, match="another meshctl"):
            sent(asked(), doors, archive, DIGEST, silent)
        asked_beside.append(event)

    asked_beside: list[str] = []
    sent(asked(), doors, archive, DIGEST, beside)

    assert asked_beside == ["upload"]


def test_a_remembered_session_of_damaged_bytes_costs_only_a_new_one(
    asked: Asked, doors: Doors, archive: Path
) -> None:
    doors.uploads.cut = 1
    with pytest.raises(Unreachable):
        sent(asked(), doors, archive, DIGEST, silent)
    (kept,) = doors.sessions.folder.glob("*.json")
    kept.write_bytes(b'{"name": "x')

    assert sent(asked(), doors, archive, DIGEST, silent).bytes == 6
    assert doors.uploads.sessions == 2


def test_a_build_that_is_only_started_has_no_digest_and_is_followed_by_the_next(
    asked: Asked, doors: Doors
) -> None:
    started = build(asked(), doors, wait=False)
    finished = build(asked(), doors)

    assert (started.digest, started.build) == ("", "b1")
    assert (finished.tag, finished.build, finished.state) == ("mesh-v1", "b1", "done")
    assert len(doors.builds.known) == 1


def test_a_build_whose_process_died_before_it_knew_the_id_is_found_by_its_tag(
    asked: Asked, doors: Doors
) -> None:
    class Killed(BaseException):
        """What no handler sees."""

    def create(body: dict[str, Any]) -> dict[str, Any]:
        kept = type(doors.builds).create_build(doors.builds, body)
        doors.store.replace = lambda *_: "1"  # nothing of what the dead process does is written
        raise Killed(kept["id"])

    doors.builds.create_build = create
    replace = doors.store.replace
    with pytest.raises(Killed):
        build(asked(), doors)
    doors.store.replace = replace
    del doors.builds.create_build

    built = build(asked(), doors)

    assert (built.build, built.tag, len(doors.builds.known)) == ("b1", "mesh-v1", 1)


def test_an_interrupt_leaves_a_build_that_another_process_began(asked: Asked, doors: Doors) -> None:
    build(asked(), doors, wait=False)

    def note(event: str, **details: Any) -> None:
        if details.get("status") == "WORKING":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(asked(), doors, note)

    assert doors.builds.cancelled == []
    assert build(asked(), doors).tag == "mesh-v1"


def test_the_log_is_told_line_by_line_as_it_grows(asked: Asked, doors: Doors) -> None:
    told: list[str] = []
    doors.uploads.objects["logs", "deep/log-b1.txt"] = b"one\ntw"

    def note(event: str, **details: Any) -> None:
        if event == "log":
            told.append(details["line"])
        elif details.get("status") == "WORKING":
            doors.uploads.objects["logs", "deep/log-b1.txt"] = b"one\ntwo\n\xff\n"

    build(asked(), doors, note)

    assert told == ["one", "two", "�"]
