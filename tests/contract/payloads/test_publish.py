"""Publishing to a bucket through the real client: nothing is written over, every byte is proved."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from meshctl.errors import CheckFailed, MeshctlError, Refused, Unreachable
from meshctl.outside.clock import Clock
from meshctl.outside.gcp import Calls, LostAnswer
from meshctl.outside.multipart import Kept, Part, S3Uploads
from meshctl.outside.objects_s3 import s3_client
from meshctl.outside.ranges_buckets import S3Folder
from meshctl.outside.retries import Patience
from meshctl.payloads.outgoing import LEAST, Outgoing, Published, note_path, part_bytes
from meshctl.payloads.publish import publish
from meshctl.payloads.wanted import Hands
from tests.fakes.buckets import s3_server
from tests.fakes.fake_clock import FakeClock

DATA = random.Random(3).randbytes(2**20) * 20 + b"the last part is shorter"
SHA256 = hashlib.sha256(DATA).hexdigest()
KEY = "qwen/m.knot"


class Flaky(S3Uploads):
    """The same bucket on bad days; what it is asked for is counted."""

    sent: list[int]
    cut_after: int | None = None
    """The number of the last part that gets through."""
    lose_finish: bool = False

    def send(self, key: str, upload: str, number: int, data: bytes) -> Part:
        if self.cut_after is not None and number > self.cut_after:
            raise Unreachable("the line is dead", place=self.place, hint="mend it")
        part = super().send(key, upload, number, data)
        self.sent.append(number)
        return part

    def finish(self, key: str, upload: str, parts: Any) -> bool:
        done = super().finish(key, upload, parts)
        if self.lose_finish:
            self.lose_finish = False
            raise LostAnswer("no answer", place=self.place, hint="ask again")
        return done


@dataclass
class Store:
    """A bucket of this test alone: every server of this process has the same ones."""

    url: str
    folder: Path
    name: str
    calls: Calls = field(default_factory=Calls)

    def client(self) -> Any:
        return s3_client(self.url, "us-east-1", ("test", "test"))

    def bucket(self) -> Flaky:
        made = Flaky("s3://models", self.name, self.client, self.calls)
        made.sent = []
        return made

    def outgoing(self, bucket: S3Uploads, sha256: str = SHA256) -> Outgoing:
        path = self.folder / "m.knot"
        reads = S3Folder(self.client, "s3://models", self.name, "qwen/", self.calls)
        return Outgoing(path, path.stat().st_size, sha256, bucket, reads, KEY)

    def publish(self, bucket: S3Uploads, sha256: str = SHA256) -> Published:
        clock: Clock = FakeClock()
        return publish(self.outgoing(bucket, sha256), Hands(clock, Patience(clock)))

    def stored(self) -> bytes:
        return bytes(self.client().get_object(Bucket=self.name, Key=KEY)["Body"].read())

    def uploads(self) -> list[Any]:
        return list(self.client().list_multipart_uploads(Bucket=self.name).get("Uploads", ()))

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture
def store(server: str, tmp_path: Path) -> Store:
    (tmp_path / "m.knot").write_bytes(DATA)
    made = Store(server, tmp_path, f"models-{uuid4().hex}")
    made.client().create_bucket(Bucket=made.name)
    return made


def test_a_published_file_is_there_whole_with_its_digest_and_was_read_back(store: Store) -> None:
    bucket = store.bucket()

    found = store.publish(bucket)

    kept = bucket.kept(KEY)
    assert store.stored() == DATA
    assert kept == Kept(len(DATA), found.version, SHA256)
    assert (found.sent, found.resumed, found.there) == (len(DATA), 0, False)
    assert _read_back(store) == len(DATA) + min(2**16, len(DATA))
    assert store.left() == ["m.knot"] and store.uploads() == []


def _read_back(store: Store) -> int:
    """Bytes that were asked for by range."""
    spans = [call.rpartition(" ")[2] for call in store.calls.made if "bytes " in call]
    return sum(int(b) + 1 - int(a) for a, b in (span.split("-") for span in spans))


def test_all_parts_but_the_last_are_of_one_size_and_their_number_is_bounded() -> None:
    for size in (1, LEAST, 78 * 2**30, 500 * 10**9, 4 * 10**12):
        step = part_bytes(size)

        assert step >= 5 * 2**20 and step % 2**20 == 0
        assert -(-size // step) <= 10_000


def test_a_publication_that_was_cut_short_goes_on_and_sends_nothing_twice(store: Store) -> None:
    dead = store.bucket()
    dead.cut_after = 1
    with pytest.raises(Unreachable) as cut:
        store.publish(dead)
    again = store.bucket()

    found = store.publish(again)

    assert "goes on from there" in cut.value.hint
    assert (dead.sent, sorted(again.sent)) == ([1], [2, 3])
    assert (found.resumed, found.sent) == (LEAST, len(DATA) - LEAST)
    assert store.stored() == DATA and store.uploads() == [] and store.left() == ["m.knot"]


def test_another_object_of_that_name_is_never_written_over(store: Store) -> None:
    store.client().put_object(Bucket=store.name, Key=KEY, Body=b"somebody serves this")

    with pytest.raises(Refused) as refused:
        store.publish(store.bucket())

    assert "new name" in refused.value.hint and refused.value.place == f"s3://models/{KEY}"
    assert store.stored() == b"somebody serves this" and store.uploads() == []


def test_an_object_that_appears_meanwhile_is_not_written_over(store: Store) -> None:
    class Hurried(Flaky):
        def finish(self, key: str, upload: str, parts: Any) -> bool:
            store.client().put_object(Bucket=store.name, Key=KEY, Body=b"was quicker")
            return super().finish(key, upload, parts)

    hurried = Hurried("s3://models", store.name, store.client, store.calls)
    hurried.sent = []

    with pytest.raises(Refused, match="meanwhile"):
        store.publish(hurried)

    assert store.stored() == b"was quicker" and store.uploads() == []


def test_publishing_the_same_again_sends_nothing_and_reads_it_whole(store: Store) -> None:
    first = store.publish(store.bucket())
    bucket = store.bucket()

    again = store.publish(bucket)

    assert (again.there, again.sent, again.version) == (True, 0, first.version)
    assert bucket.sent == []


def test_an_object_that_only_claims_the_digest_is_found_by_reading_it(store: Store) -> None:
    wrong = bytearray(DATA)
    wrong[len(DATA) // 2] ^= 1
    store.client().put_object(
        Bucket=store.name, Key=KEY, Body=bytes(wrong), Metadata={"sha256": SHA256}
    )

    with pytest.raises(CheckFailed) as found:
        store.publish(store.bucket())

    assert hashlib.sha256(wrong).hexdigest() in found.value.message
    assert _told(found.value)


def test_a_lost_answer_to_the_last_request_is_no_failure(store: Store) -> None:
    bucket = store.bucket()
    bucket.lose_finish = True

    found = store.publish(bucket)

    assert found.sent == len(DATA) and store.stored() == DATA


def test_a_file_that_is_not_what_was_promised_becomes_no_object(store: Store) -> None:
    with pytest.raises(CheckFailed) as changed:
        store.publish(store.bucket(), sha256="0" * 64)

    assert _told(changed.value)
    assert store.bucket().kept(KEY) is None and store.uploads() == []
    assert store.left() == ["m.knot"]


def test_what_was_begun_of_other_bytes_is_not_gone_on_with(store: Store) -> None:
    dead = store.bucket()
    dead.cut_after = 2
    with pytest.raises(Unreachable):
        store.publish(dead)
    assert note_path(store.folder / "m.knot").exists()
    other = DATA[::-1]
    (store.folder / "m.knot").write_bytes(other)

    found = store.publish(store.bucket(), sha256=hashlib.sha256(other).hexdigest())

    assert found.resumed == 0 and store.stored() == other


def test_an_upload_that_the_store_has_forgotten_is_begun_anew(store: Store) -> None:
    dead = store.bucket()
    dead.cut_after = 2
    with pytest.raises(Unreachable):
        store.publish(dead)
    (upload,) = store.uploads()
    store.client().abort_multipart_upload(Bucket=store.name, Key=KEY, UploadId=upload["UploadId"])

    found = store.publish(store.bucket())

    assert found.resumed == 0 and store.stored() == DATA


def test_a_web_page_is_not_published(store: Store) -> None:
    page = b"<!doctype html><html>log in</html>"
    (store.folder / "m.knot").write_bytes(page)

    with pytest.raises(CheckFailed, match="html"):
        store.publish(store.bucket(), sha256=hashlib.sha256(page).hexdigest())

    assert store.bucket().kept(KEY) is None


def _told(error: MeshctlError) -> bool:
    """Place, cause and next command: all three are there."""
    return bool(error.message and error.place and error.hint)
