"""A mounted file is proved byte by byte, once for every version of its object."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from meshctl.errors import Interrupted, Refused
from meshctl.outside.objects import DirStore
from meshctl.outside.upload import Uploaded
from meshctl.payloads.object import PART_BYTES, prove_object

URL = "gs://models/qwen/q.gguf"


@dataclass
class Bucket:
    """One object, in memory."""

    data: bytes | None
    generation: str = "1"
    read: list[tuple[int, int]] = field(default_factory=list)

    def find(self, bucket: str, name: str) -> Uploaded | None:
        assert (bucket, name) == ("models", "qwen/q.gguf")
        if self.data is None:
            return None
        return Uploaded(bucket, name, self.generation, len(self.data), "AAAAAA==")

    def part(self, found: Uploaded, start: int, end: int) -> bytes:
        assert self.data is not None and found.generation == self.generation
        self.read.append((start, end))
        return self.data[start:end]


@pytest.fixture
def proofs(tmp_path: Path) -> DirStore:
    return DirStore(tmp_path / "state")


def prove(bucket: Bucket, proofs: DirStore, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    evidence = prove_object(URL, len(data), digest, bucket, proofs, lambda *_: None)
    assert evidence["sha256"] == digest
    return str(evidence["proved"])


def test_an_object_is_read_in_parts_and_remembered(proofs: DirStore) -> None:
    data = b"x" * (PART_BYTES + 5)
    bucket = Bucket(data)

    first, again = prove(bucket, proofs, data), prove(bucket, proofs, data)

    assert bucket.read == [(0, PART_BYTES), (PART_BYTES, PART_BYTES + 5)]
    assert first == f"read whole: {URL}, generation 1"
    assert again == f"read whole before: {URL}, generation 1"


def test_a_new_version_of_an_object_is_read_anew(proofs: DirStore) -> None:
    prove(Bucket(b"one"), proofs, b"one")
    bucket = Bucket(b"two", generation="2")

    with pytest.raises(Refused, match="expected sha256"):
        prove(bucket, proofs, b"one")

    assert bucket.read == [(0, 3)]


def test_a_remembered_digest_is_compared_too(proofs: DirStore) -> None:
    prove(Bucket(b"one"), proofs, b"one")

    with pytest.raises(Refused, match="expected sha256"):
        prove(Bucket(b"one"), proofs, b"two")


def test_another_size_is_refused_without_reading(proofs: DirStore) -> None:
    bucket = Bucket(b"longer")

    with pytest.raises(Refused, match=r"expected 3 bytes .*, found 6 bytes"):
        prove(bucket, proofs, b"one")

    assert bucket.read == []


def test_an_object_that_is_not_there_is_refused_with_the_way_to_put_it(proofs: DirStore) -> None:
    with pytest.raises(Refused) as refused:
        prove(Bucket(None), proofs, b"one")

    assert URL in refused.value.hint


def test_a_damaged_memory_costs_only_another_reading(proofs: DirStore) -> None:
    prove(Bucket(b"one"), proofs, b"one")
    (key,) = proofs.list("proofs/")
    stored = proofs.read(key)
    assert stored
    proofs.replace(key, b"[]", stored.generation)
    bucket = Bucket(b"one")

    prove(bucket, proofs, b"one")

    assert bucket.read == [(0, 3)]


def test_a_proof_can_be_stopped_between_two_parts_and_claims_nothing(proofs: DirStore) -> None:
    data = b"x" * (PART_BYTES + 5)

    def stop(*_: object) -> None:
        raise Interrupted("the answer was no")

    with pytest.raises(Interrupted):
        prove_object(URL, len(data), "a" * 64, Bucket(data), proofs, stop)

    assert proofs.list("proofs/") == []
