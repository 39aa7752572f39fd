"""Proves once for each place of state that its endpoint keeps the conditions of our writes.

Some endpoints take the condition and ignore it: two rollouts would both get the lock, and nobody
would be told. The proof stays in the bucket, so that it costs one read a command from then on, and
nothing where a command does not write.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

from pydantic import ValidationError

from meshctl.errors import Refused
from meshctl.outside.clock import Clock, rfc3339
from meshctl.outside.objects import ObjectStore, Stored
from meshctl.spec.model import Frozen

PROBES = "probes/"


class Probe(Frozen):
    """One endpoint that kept every condition, and when (RFC 3339)."""

    endpoint: str
    passed: str


class ProbedStore:
    """A store that is proved before its first write."""

    def __init__(
        self, inner: ObjectStore, endpoint: Callable[[], str], place: str, clock: Clock
    ) -> None:
        self.inner, self._endpoint, self.place, self.clock = inner, endpoint, place, clock
        self.at_once = getattr(inner, "at_once", 1)
        self._guard, self._is_proved = threading.Lock(), False

    @property
    def endpoint(self) -> str:
        """The URL of who keeps the bucket."""
        return self._endpoint()

    def read(self, key: str) -> Stored | None:
        return self.inner.read(key)

    def list(self, prefix: str) -> list[str]:
        return self.inner.list(prefix)

    def create(self, key: str, data: bytes) -> str | None:
        self._must_be_proved()
        return self.inner.create(key, data)

    def replace(self, key: str, data: bytes, generation: str) -> str | None:
        self._must_be_proved()
        return self.inner.replace(key, data, generation)

    def delete(self, key: str, generation: str) -> bool:
        self._must_be_proved()
        return self.inner.delete(key, generation)

    def proved(self) -> Probe | None:
        """The proof that the bucket holds for this endpoint."""
        stored = self.inner.read(self._key)
        try:
            found = Probe.model_validate_json(stored.data) if stored else None
        except ValidationError:
            return None
        return found if found and found.endpoint == self.endpoint else None

    def prove(self) -> Probe:
        """Try every condition now, and write down that they were kept. Raises Refused."""
        prove(self.inner, self.endpoint, self.place)
        proof = Probe(endpoint=self.endpoint, passed=rfc3339(self.clock.now()))
        data, stored = proof.model_dump_json().encode(), self.inner.read(self._key)
        if stored:
            self.inner.replace(self._key, data, stored.generation)
        else:
            self.inner.create(self._key, data)
        return proof

    @property
    def _key(self) -> str:
        host = self.endpoint.partition("://")[2].strip("/")
        return PROBES + "".join(c if c.isalnum() or c in ".-" else "_" for c in host) + ".json"

    def _must_be_proved(self) -> None:
        with self._guard:
            if not self._is_proved and self.proved() is None:
                self.prove()
            self._is_proved = True


def prove(store: ObjectStore, endpoint: str, place: str) -> None:
    """Write one object against every condition there is. Raises Refused for an endpoint that lets
    one of these writes through."""
    key = f"{PROBES}trial-{secrets.token_hex(8)}"
    first = _written(store.create(key, b"1"), endpoint, place)
    if store.create(key, b"2") is not None:
        raise _ignored("a second create under one key", endpoint, place)
    second = _written(store.replace(key, b"3", first), endpoint, place)
    if store.replace(key, b"4", first) is not None:
        raise _ignored("a write over a generation that was gone", endpoint, place)
    if store.delete(key, first):
        raise _ignored("the removal of a generation that was gone", endpoint, place)
    if not store.delete(key, second):
        raise _odd("it did not remove the generation that was there", endpoint, place)


def _written(generation: str | None, endpoint: str, place: str) -> str:
    if generation is None:
        raise _odd("it refused a write whose condition held", endpoint, place)
    return generation


def _ignored(what: str, endpoint: str, place: str) -> Refused:
    return Refused(
        f"{endpoint} ignores conditions: it took {what}, so two could hold one lock",
        place=place,
        hint="keep the state where they are kept: gs://, s3:// on AWS, r2://, or a folder",
    )


def _odd(what: str, endpoint: str, place: str) -> Refused:
    return Refused(
        f"{endpoint} does not keep conditions as it should: {what}",
        place=place,
        hint="keep the state where they are kept: gs://, s3:// on AWS, r2://, or a folder",
    )
