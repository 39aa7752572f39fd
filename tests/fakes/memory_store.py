"""Objects in memory, as outside/objects.py promises them, and a process that can die on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from meshctl.errors import Unreachable
from meshctl.outside.objects import Stored
from meshctl.outside.objects_drill import DrillStore

T = TypeVar("T")


class MemoryStore:
    """`created` counts the writes that a drill counts; `down` makes every call Unreachable."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.created = 0
        self.down = False
        self._generation = 0

    def read(self, key: str) -> Stored | None:
        self._must_be_up()
        return self.objects.get(key)

    def create(self, key: str, data: bytes) -> str | None:
        self._must_be_up()
        self.created += 1
        return None if key in self.objects else self._put(key, data)

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        self._must_be_up()
        return self._put(key, data) if self._is_current(key, generation) else None

    def delete(self, key: str, generation: str) -> bool:
        self._must_be_up()
        if not self._is_current(key, generation):
            return False
        del self.objects[key]
        return True

    def list(self, prefix: str) -> list[str]:
        self._must_be_up()
        return sorted(key for key in self.objects if key.startswith(prefix))

    def _put(self, key: str, data: bytes) -> str:
        self._generation += 1
        self.objects[key] = Stored(data, str(self._generation))
        return str(self._generation)

    def _is_current(self, key: str, generation: str) -> bool:
        return key in self.objects and self.objects[key].generation == generation

    def _must_be_up(self) -> None:
        if self.down:
            raise Unreachable("the state store does not answer", place="memory")


class Died(BaseException):
    """The process is gone: nobody catches this, and nothing is tidied up."""


class MortalStore:
    """The store of a process that dies round its N-th write; a dead process writes nothing."""

    def __init__(self, inner: MemoryStore, when: str) -> None:
        self._drill = DrillStore(inner, when, self._die)
        self.dead = False

    def read(self, key: str) -> Stored | None:
        return self._alive(lambda: self._drill.read(key))

    def list(self, prefix: str) -> list[str]:
        return self._alive(lambda: self._drill.list(prefix))

    def create(self, key: str, data: bytes) -> str | None:
        return self._alive(lambda: self._drill.create(key, data))

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        return self._alive(lambda: self._drill.replace(key, data, generation))

    def delete(self, key: str, generation: str) -> bool:
        return self._alive(lambda: self._drill.delete(key, generation))

    def _alive(self, call: Callable[[], T]) -> T:
        if self.dead:
            raise Died
        return call()

    def _die(self) -> None:
        self.dead = True
        raise Died
