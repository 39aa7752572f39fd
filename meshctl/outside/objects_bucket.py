"""A store in a bucket: conditional writes only, and a lost answer is found out by reading.

Every write carries a mark that nobody else draws, kept beside the object. When the answer is lost,
whoever looks sees by the mark whether the write came about, whatever was written. It is sent again
only where the object is still what the condition asks for, so that of two tries one can win.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from meshctl.errors import MeshctlError, Refused, UsageError
from meshctl.outside.chance import jitter
from meshctl.outside.clock import Clock
from meshctl.outside.gcp import LostAnswer
from meshctl.outside.objects import Stored

WAITS_S = (0.25, 0.5, 1.0, 2.0, 4.0)
PATIENCE_S = 20.0
"""No call is tried again after this long: a lease lasts 30 s, and its holder must hear in time."""
CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S = 5.0, 10.0
AT_ONCE = 8

_T = TypeVar("_T")


@dataclass(frozen=True)
class Written:
    """Who wrote an object last: the mark of the write, and the generation that it made."""

    mark: str
    generation: str


class Bucket(Protocol):
    """One try each. Raises LostAnswer where nobody knows what came of it, UsageError for a bucket
    that is not there, Refused for one that may not be used, Unreachable without credentials."""

    @property
    def endpoint(self) -> str: ...

    def get(self, key: str) -> Stored | None: ...

    def look(self, key: str) -> Written | None: ...

    def put(self, key: str, data: bytes, mark: str, generation: str | None) -> str | None:
        """Write over exactly that generation, over nothing where it is None; the new generation,
        or None where the condition does not hold."""
        ...

    def remove(self, key: str, generation: str) -> bool: ...

    def keys(self, prefix: str) -> list[str]: ...


class BucketStore:
    """The keys below one prefix of a bucket, as an ObjectStore."""

    at_once = AT_ONCE

    def __init__(
        self, bucket: Bucket, prefix: str, clock: Clock, note: Callable[[str], None]
    ) -> None:
        self.bucket, self.prefix, self.clock, self.note = bucket, prefix, clock, note

    def read(self, key: str) -> Stored | None:
        path = self._path(key)
        return self._patiently(lambda: self.bucket.get(path))

    def create(self, key: str, data: bytes) -> str | None:
        return self._write(self._path(key), data, None)

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        return self._write(self._path(key), data, generation)

    def delete(self, key: str, generation: str) -> bool:
        path = self._path(key)
        try:
            return self.bucket.remove(path, generation)
        except LostAnswer as lost:
            self.note(f"state: {lost.message}: looking what came of it")
        return self._patiently(lambda: self._is_gone(path, generation))

    def list(self, prefix: str) -> list[str]:
        found = self._patiently(lambda: self.bucket.keys(self.prefix + prefix))
        return sorted(key.removeprefix(self.prefix) for key in found)

    def _write(self, path: str, data: bytes, generation: str | None) -> str | None:
        mark = secrets.token_hex(12)
        try:
            return self.bucket.put(path, data, mark, generation)
        except LostAnswer as lost:
            self.note(f"state: {lost.message}: looking what came of it")
        return self._patiently(lambda: self._found_out(path, data, mark, generation))

    def _found_out(self, path: str, data: bytes, mark: str, generation: str | None) -> str | None:
        """What became of the write; done again where it surely did not come about so far."""
        found = self.bucket.look(path)
        if found and found.mark == mark:
            return found.generation
        if (found.generation if found else None) != generation:
            return None
        written = self.bucket.put(path, data, mark, generation)
        if written is None:  # refused, perhaps because the first one has just arrived
            found = self.bucket.look(path)
            return found.generation if found and found.mark == mark else None
        return written

    def _is_gone(self, path: str, generation: str) -> bool:
        found = self.bucket.look(path)
        if found is None:
            return True
        if found.generation != generation:
            return False
        return self.bucket.remove(path, generation) or self.bucket.look(path) is None

    def _patiently(self, call: Callable[[], _T]) -> _T:
        """Try again, a few times and not for long, what is safe to try again."""
        deadline = self.clock.monotonic() + PATIENCE_S
        for wait in WAITS_S:
            try:
                return call()
            except LostAnswer as lost:
                wait_s = max(wait * (0.75 + jitter() / 2), lost.retry_after_s)
                if self.clock.monotonic() + wait_s > deadline:
                    raise
                self.note(f"state: {lost.message}: again in {wait_s:.1f} s")
            self.clock.sleep(wait_s)
        return call()

    def _path(self, key: str) -> str:
        if any(part in ("", ".", "..") for part in key.split("/")):
            raise UsageError(f"{key!r} is not a key", hint="a key is names joined by slashes")
        return self.prefix + key


def missing_bucket(place: str, make: str) -> MeshctlError:
    """There is no such bucket, and meshctl makes none: where it lies and who reads it is for its
    owner to say."""
    return UsageError("there is no such bucket", place=place, hint=f"make it: `{make}`")


def forbidden(place: str, why: str, needs: str) -> MeshctlError:
    """The credentials are good, and do not suffice."""
    return Refused(f"the state may not be used: {why}", place=place, hint=f"it needs {needs}")
