"""A store that reads each event once a command: what never changes need not be asked again."""

from __future__ import annotations

from meshctl.outside.objects import ObjectStore, Stored

NEVER_CHANGED = "runs/"


class MemoStore:
    """Remembers events that were found. What is absent is asked for again, and so is all else."""

    def __init__(self, inner: ObjectStore) -> None:
        self.inner = inner
        self.at_once = getattr(inner, "at_once", 1)
        self._known: dict[str, Stored] = {}

    def read(self, key: str) -> Stored | None:
        if key in self._known:
            return self._known[key]
        found = self.inner.read(key)
        if found and key.startswith(NEVER_CHANGED):
            self._known[key] = found
        return found

    def create(self, key: str, data: bytes) -> str | None:
        return self.inner.create(key, data)

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        self._known.pop(key, None)
        return self.inner.replace(key, data, generation)

    def delete(self, key: str, generation: str) -> bool:
        self._known.pop(key, None)
        return self.inner.delete(key, generation)

    def list(self, prefix: str) -> list[str]:
        return self.inner.list(prefix)
