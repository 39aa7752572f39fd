"""What becomes of a write whose answer is lost, and how long anything is tried again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.errors import Refused
from meshctl.outside.gcp import LostAnswer
from meshctl.outside.objects import Stored
from meshctl.outside.objects_bucket import PATIENCE_S, BucketStore, Written
from meshctl.outside.objects_memo import MemoStore
from meshctl.outside.objects_probe import ProbedStore
from tests.fakes.fake_clock import FakeClock
from tests.fakes.memory_store import MemoryStore


class FakeBucket:
    """A bucket in memory. `trouble` is done to the next calls: `before` loses the request, `after`
    the answer; a function is called in between and the answer lost."""

    endpoint = "https://bucket.test"

    def __init__(self, *trouble: str | Callable[[], None]) -> None:
        self.memory, self.marks = MemoryStore(), dict[str, str]()
        self.trouble = list(trouble)
        self.calls: list[str] = []

    def get(self, key: str) -> Stored | None:
        self._before("get")
        return self.memory.read(key)

    def look(self, key: str) -> Written | None:
        self._before("look")
        found = self.memory.read(key)
        return Written(self.marks[key], found.generation) if found else None

    def put(self, key: str, data: bytes, mark: str, generation: str | None) -> str | None:
        lost = self._before("put")
        written = self.write(key, data, mark, generation)
        self._after(lost)
        return written

    def write(self, key: str, data: bytes, mark: str, generation: str | None) -> str | None:
        made = (
            self.memory.replace(key, data, generation)
            if generation
            else self.memory.create(key, data)
        )
        if made:
            self.marks[key] = mark
        return made

    def remove(self, key: str, generation: str) -> bool:
        lost = self._before("remove")
        gone = self.memory.delete(key, generation)
        self._after(lost)
        return gone

    def keys(self, prefix: str) -> list[str]:
        self._before("keys")
        return self.memory.list(prefix)

    def _before(self, call: str) -> str | Callable[[], None]:
        self.calls.append(call)
        trouble = self.trouble.pop(0) if self.trouble else ""
        if trouble == "before":
            raise LostAnswer("no answer")
        return trouble

    def _after(self, lost: str | Callable[[], None]) -> None:
        if callable(lost):
            lost()
        if lost:
            raise LostAnswer("no answer")


def store(bucket: FakeBucket) -> BucketStore:
    return BucketStore(bucket, "p/", FakeClock(), lambda _: None)


def test_a_write_that_came_about_is_not_written_again() -> None:
    bucket = FakeBucket("after")

    generation = store(bucket).create("k", b"1")

    assert bucket.memory.objects["p/k"] == Stored(b"1", generation or "")
    assert bucket.calls == ["put", "look"]


def test_a_write_that_never_arrived_is_written_once() -> None:
    bucket = FakeBucket("before")

    generation = store(bucket).create("k", b"1")

    assert bucket.memory.objects["p/k"] == Stored(b"1", generation or "")
    assert bucket.calls == ["put", "look", "put"]


def test_the_same_bytes_by_somebody_else_are_not_ours() -> None:
    bucket = FakeBucket("before")
    bucket.write("p/k", b"1", "theirs", None)

    assert store(bucket).create("k", b"1") is None


def test_a_request_that_arrives_late_is_still_ours() -> None:
    """The first request is slow: it lands after the look, and makes the second one fail."""

    class Late(FakeBucket):
        def put(self, key: str, data: bytes, mark: str, generation: str | None) -> str | None:
            if len(self.calls) == 2:
                self.write(key, data, mark, generation)
            return super().put(key, data, mark, generation)

    bucket = Late("before")

    generation = store(bucket).create("k", b"1")

    assert generation == bucket.memory.objects["p/k"].generation
    assert bucket.calls == ["put", "look", "put", "look"]


def test_a_replace_whose_answer_is_lost_and_then_overwritten_is_not_current() -> None:
    bucket = FakeBucket("", lambda: overwrite(bucket))
    made = store(bucket)
    first = made.create("k", b"1") or ""

    assert made.replace("k", b"2", first) is None
    assert bucket.memory.objects["p/k"].data == b"theirs"


def overwrite(bucket: FakeBucket) -> None:
    current = bucket.memory.objects["p/k"].generation
    bucket.write("p/k", b"theirs", "theirs", current)


@pytest.mark.parametrize("trouble", ["before", "after"])
def test_a_removal_whose_answer_is_lost_is_found_out(trouble: str) -> None:
    bucket = FakeBucket("", trouble)
    made = store(bucket)
    first = made.create("k", b"1") or ""

    assert made.delete("k", first)
    assert bucket.memory.objects == {}


def test_a_removal_never_takes_what_somebody_wrote_meanwhile() -> None:
    bucket = FakeBucket("", "before", "")
    made = store(bucket)
    first = made.create("k", b"1") or ""
    overwrite(bucket)

    assert not made.delete("k", first)
    assert bucket.memory.objects["p/k"].data == b"theirs"


def test_a_bucket_that_is_silent_is_given_up_before_a_lease_is_over() -> None:
    bucket = FakeBucket(*["before"] * 50)
    made = store(bucket)
    began = made.clock.monotonic()

    with pytest.raises(LostAnswer):
        made.read("k")

    assert 2 < len(bucket.calls) < 10
    assert made.clock.monotonic() - began < PATIENCE_S


def test_what_never_changes_is_read_once_and_a_lock_every_time() -> None:
    bucket = FakeBucket()
    made = MemoStore(store(bucket))
    for key in ("runs/r/000001.json", "locks/k"):
        made.create(key, b"1")
        made.read(key)
        made.read(key)
    made.read("runs/r/000002.json")
    made.read("runs/r/000002.json")

    assert bucket.calls.count("get") == 1 + 2 + 2


class Keeps(MemoryStore):
    """An endpoint that ignores one of the conditions."""

    def __init__(self, ignored: str) -> None:
        super().__init__()
        self.ignored = ignored

    def create(self, key: str, data: bytes) -> str | None:
        return self._put(key, data) if self.ignored == "create" else super().create(key, data)

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        if self.ignored == "replace":
            return self._put(key, data)
        return super().replace(key, data, generation)

    def delete(self, key: str, generation: str) -> bool:
        if self.ignored == "delete":
            return self.objects.pop(key, None) is not None
        return super().delete(key, generation)


@pytest.mark.parametrize("ignored", ["create", "replace", "delete"])
def test_every_condition_that_is_ignored_is_noticed(ignored: str) -> None:
    inner = Keeps(ignored)
    made = ProbedStore(inner, lambda: "https://careless.test", "s3://b/p", FakeClock())

    with pytest.raises(Refused, match=r"https://careless\.test ignores conditions"):
        made.create("locks/k", b"1")

    assert "locks/k" not in inner.objects


def test_a_proof_counts_for_its_own_endpoint_alone() -> None:
    inner = MemoryStore()
    one = ProbedStore(inner, lambda: "https://one.test", "s3://b/p", FakeClock())
    one.create("a", b"1")

    other = ProbedStore(inner, lambda: "https://other.test", "s3://b/p", FakeClock())

    assert one.proved() is not None and other.proved() is None
