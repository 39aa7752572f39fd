"""A resumable upload, against a session that behaves as Cloud Storage documents it."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import google_crc32c
import pytest

from meshctl.errors import CheckFailed, Refused, Unreachable
from meshctl.outside.gcp import LostAnswer, NotFound
from meshctl.outside.storage import staging_bucket
from meshctl.outside.upload import CHUNK_BYTES, WAITS_S, Answer, upload

DATA = bytes(range(256)) * (CHUNK_BYTES // 128) + b"the end"


class Session:
    """A session in memory; `trouble` says for each PUT, by its number, what goes wrong."""

    def __init__(self, has: bytes = b"", **trouble: object) -> None:
        self.has, self.puts = has, list[str]()
        self.trouble = {int(key.removeprefix("put")): value for key, value in trouble.items()}

    def __call__(self, data: bytes, content_range: str) -> Answer:
        self.puts.append(content_range)
        trouble = self.trouble.get(len(self.puts))
        if isinstance(trouble, int):
            return Answer(trouble, "", b"trouble")
        if trouble == "lost before":
            raise LostAnswer("no answer")
        self.take(data[: len(data) // 2] if trouble == "half" else data, content_range)
        if trouble == "lost after":
            raise LostAnswer("no answer")
        return self.answer(int(content_range.rpartition("/")[2]))

    def take(self, data: bytes, content_range: str) -> None:
        match = re.fullmatch(r"bytes (\d+)-\d+/\d+", content_range)
        if match and int(match[1]) <= len(self.has):
            self.has = self.has[: int(match[1])] + data

    def answer(self, total: int) -> Answer:
        if len(self.has) < total:
            return Answer(308, f"bytes=0-{len(self.has) - 1}" if self.has else "", b"")
        crc = base64.b64encode(google_crc32c.Checksum(self.has).digest()).decode()
        found = {"bucket": "b", "name": "o", "generation": "7", "size": str(total), "crc32c": crc}
        return Answer(200, "", json.dumps(found).encode())


class Clock:
    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "source.tgz").write_bytes(DATA)
    return tmp_path / "source.tgz"


def test_a_file_is_put_chunk_by_chunk(file: Path) -> None:
    session, progress = Session(), list[int]()

    found = upload(session, file, Clock(), lambda has, of: progress.append(has))

    assert session.has == DATA
    assert (found.bytes, found.generation) == (len(DATA), "7")
    assert progress == [0, CHUNK_BYTES, 2 * CHUNK_BYTES, len(DATA)]


def test_what_the_session_has_is_not_put_again(file: Path) -> None:
    session = Session(has=DATA[:CHUNK_BYTES])

    upload(session, file, Clock(), lambda has, of: None)

    assert session.puts[:2] == [
        f"bytes */{len(DATA)}", f"bytes {CHUNK_BYTES}-{2 * CHUNK_BYTES - 1}/{len(DATA)}",
    ]  # fmt: skip
    assert session.has == DATA


@pytest.mark.parametrize("trouble", ["lost before", "lost after", "half", 503, 429, 408])
@pytest.mark.parametrize("at", ["put1", "put2", "put4"])
def test_trouble_on_the_way_is_overcome(file: Path, at: str, trouble: object) -> None:
    session = Session(**{at: trouble})

    found = upload(session, file, Clock(), lambda has, of: None)

    assert session.has == DATA and found.bytes == len(DATA)


def test_waits_grow_while_nothing_gets_through_and_then_end(file: Path) -> None:
    clock = Clock()
    session = Session(**{f"put{number}": 503 for number in range(1, 100)})

    with pytest.raises(Unreachable, match="does not get on"):
        upload(session, file, clock, lambda has, of: None)

    assert tuple(clock.slept) == WAITS_S


def test_a_session_that_answers_but_keeps_nothing_is_given_up(file: Path) -> None:
    clock = Clock()

    with pytest.raises(Unreachable, match="took nothing after byte 0"):
        upload(lambda data, place: Answer(308, "", b""), file, clock, lambda has, of: None)

    assert tuple(clock.slept) == WAITS_S


@pytest.mark.parametrize("status", [404, 410])
def test_a_session_that_is_over_is_not_tried_again(file: Path, status: int) -> None:
    session = Session(put2=status)

    with pytest.raises(NotFound, match="session is over"):
        upload(session, file, Clock(), lambda has, of: None)

    assert len(session.puts) == 2


def test_a_name_that_is_taken_is_refused(file: Path) -> None:
    with pytest.raises(Refused, match="412"):
        upload(Session(put2=412), file, Clock(), lambda has, of: None)


def test_other_bytes_than_the_files_are_noticed(file: Path) -> None:
    session = Session(has=b"X" * CHUNK_BYTES)

    with pytest.raises(CheckFailed, match="crc32c"):
        upload(session, file, Clock(), lambda has, of: None)


def test_a_confirmation_without_a_checksum_is_not_believed(file: Path) -> None:
    with pytest.raises(Refused, match="without size and crc32c"):
        upload(lambda data, place: Answer(200, "", b"{}"), file, Clock(), lambda has, of: None)


@pytest.mark.parametrize(
    ("project", "bucket"),
    [
        ("my-project", "my-project_cloudbuild"),
        ("example.com:my-project", "example_com_my-project_cloudbuild"),
        ("my-google-project", "my-elgoog-project_cloudbuild"),
    ],
)
def test_the_bucket_is_the_one_gcloud_uses(project: str, bucket: str) -> None:
    assert staging_bucket(project) == bucket
