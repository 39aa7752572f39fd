"""What is remembered of boots: a few of every shape, and nothing of what was bent."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from meshctl.errors import MeshctlError
from meshctl.outside.objects import Stored
from meshctl.spec.model import Payload
from meshctl.state.boot import Boot, BootRecord
from meshctl.state.boots import OF_ONE_PAYLOAD, OF_ONE_SHAPE, boots_of, payload_id, remember
from meshctl.state.examine import examine
from tests.fakes.memory_store import MemoryStore

PAYLOAD = "a" * 64
KEY = f"boots/{PAYLOAD}.json"


def record(second: int = 0, **changed: Any) -> BootRecord:
    given: dict[str, Any] = {
        "at": f"2026-11-30T20:45:{second:02d}.000000Z", "payload": PAYLOAD, "device": "L4",
        "devices": 1, "device_bytes": 2**34, "shape": {"context": "8192"},
        "boot": Boot(engine="vllm", ready=True, weights_bytes=1, available_kv_bytes=1),
    }  # fmt: skip
    return BootRecord(**given | changed)


class Contested(MemoryStore):
    """Somebody else writes between a look and a write, so many times."""

    left = 2

    def read(self, key: str) -> Stored | None:
        found = super().read(key)
        if self.left:
            self.left -= 1
            remember(self._other(), record(30 + self.left))
        return found

    def _other(self) -> MemoryStore:
        other = MemoryStore()
        other.__dict__ = self.__dict__  # the same objects, without the contest
        return other


def test_a_boot_is_read_back_as_it_was_written_the_newest_first() -> None:
    store = MemoryStore()

    for second in (1, 2):
        remember(store, record(second))

    assert boots_of(store, PAYLOAD) == (record(2), record(1))
    assert boots_of(store, "b" * 64) == ()


def test_of_every_shape_a_few_are_kept_and_the_same_one_once() -> None:
    store = MemoryStore()
    for second in range(OF_ONE_SHAPE + 3):
        remember(store, record(second))
        remember(store, record(second))

    remember(store, record(1, shape={"context": "4096"}))

    found = boots_of(store, PAYLOAD)
    assert [one.at for one in found if one.shape == {"context": "8192"}] == [
        record(second).at for second in reversed(range(3, OF_ONE_SHAPE + 3))
    ]
    assert len(found) == OF_ONE_SHAPE + 1


def test_one_payload_never_has_more_than_is_read_at_once() -> None:
    store = MemoryStore()

    for number in range(OF_ONE_PAYLOAD + 5):
        remember(store, record(number % 60, shape={"context": str(number + 1)}))

    assert len(boots_of(store, PAYLOAD)) == OF_ONE_PAYLOAD


def test_two_who_write_at_once_lose_nothing() -> None:
    store = Contested()

    remember(store, record(1))

    assert len(boots_of(store, PAYLOAD)) == 3


@pytest.mark.parametrize("data", [b"", b"[]", b'{"records": [{}]}', b"\xff\x00"])
def test_what_was_changed_from_outside_is_refused_with_its_place(data: bytes) -> None:
    store = MemoryStore()
    store.create(KEY, data)

    with pytest.raises(MeshctlError, match="cannot be read") as caught:
        boots_of(store, PAYLOAD)

    assert caught.value.place == KEY


def test_the_boots_of_other_bytes_are_not_those_of_a_payload() -> None:
    store = MemoryStore()
    remember(store, record(1))
    stored = store.read(KEY)
    assert stored is not None
    store.create(f"boots/{'b' * 64}.json", stored.data)

    assert boots_of(store, "b" * 64) == ()


def test_the_same_bytes_under_other_names_are_the_same_payload() -> None:
    def payload(**digests: str) -> Payload:
        files = {name: {"bytes": 1, "sha256": one * 64} for name, one in digests.items()}
        return Payload.model_validate({"source": "file:.", "files": files})

    assert payload_id(payload(a="1", b="2")) == payload_id(payload(x="2", y="1"))
    assert payload_id(payload(a="1", b="2")) != payload_id(payload(a="1"))


def test_a_check_of_the_state_names_bent_boots_and_no_others() -> None:
    store = MemoryStore()
    remember(store, record())
    store.create(f"boots/{'b' * 64}.json", b'{"records": 5}')

    found = examine(store, datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC))

    assert [wrong.place for wrong in found.wrong] == [f"boots/{'b' * 64}.json"]
    assert found.others == 2
