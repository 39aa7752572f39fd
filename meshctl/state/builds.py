"""Remembers which builds of an image were made, from what, and under which number.

A build is `builds/IMAGE/NNNNNN.json`: created as reserved, so that a number belongs to one build
even when two are started at once, then replaced once as done or failed. A reservation whose run
died stays, and its number is never used again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from meshctl.errors import MeshctlError
from meshctl.outside.objects import ObjectStore, Stored
from meshctl.spec.model import Frozen

LAST_NUMBER = 999_999
"""The key has six digits, so that keys sort as numbers do."""


class FileProof(Frozen):
    """What one file of a payload weighed and hashed to when it went into an image."""

    bytes: int
    sha256: str


class Built(Frozen):
    """One build of an image; sizes in bytes, `at` in RFC 3339, `dirty` None where git is not.

    `bytes` is what was uploaded. `files` holds the payload files that were included, by their path
    in the context. `reused` says how the asker came by it, and is false in every record.
    """

    image: str
    repository: str
    tag: str
    number: int = Field(ge=1, le=LAST_NUMBER)
    state: Literal["reserved", "done", "failed"]
    project: str
    region: str
    at: str
    context_digest: str
    recipe_digest: str
    digest: str = ""
    build: str = ""
    bytes: int = 0
    files: dict[str, FileProof] = Field(default={})
    commit: str | None = None
    dirty: bool | None = None
    reused: bool = False

    @property
    def reference(self) -> str:
        """The image pinned by its digest."""
        return f"{self.repository}@{self.digest}"


def reserve(store: ObjectStore, built: Built) -> bool:
    """Take the number of this build; False when somebody else has it."""
    return store.create(_key(built.image, built.number), _text(built)) is not None


def record(store: ObjectStore, built: Built) -> None:
    """Write what became of a reserved build. Raises MeshctlError unless it is still reserved, or
    another process that followed the same build has written the same."""
    key = _key(built.image, built.number)
    stored = store.read(key)
    found = _parse(stored, key) if stored else None
    if found and (found.state, found.digest, found.build) == (
        built.state, built.digest, built.build,
    ):  # fmt: skip
        return
    reserved = found is not None and found.state == "reserved"
    if not stored or not reserved or store.replace(key, _text(built), stored.generation) is None:
        raise MeshctlError(
            f"build {built.number} of {built.image} is no longer reserved",
            place=key,
            hint="somebody else wrote it; build again",
        )


def builds_of(store: ObjectStore, image: str) -> Iterator[Built]:
    """Every recorded build of an image, the newest first; each is read when it is asked for."""
    for key in reversed(store.list(f"builds/{image}/")):
        stored = store.read(key)
        if stored is not None:
            yield _parse(stored, key)


class Latest(NamedTuple):
    """The last build of an image that was done, and a later one of which nobody recorded the end;
    None where there is none."""

    done: Built | None = None
    begun: Built | None = None


def latest(store: ObjectStore, image: str, repository: str) -> Latest:
    """Fleets that share a state may call different images alike: only what was pushed to this
    repository counts. A build that has no id yet was not started."""
    begun: Built | None = None
    for built in builds_of(store, image):
        if built.repository == repository and built.state == "done":
            return Latest(built, begun)
        if built.repository == repository and built.state == "reserved" and built.build:
            begun = begun or built
    return Latest(None, begun)


def last_number(store: ObjectStore, image: str) -> int:
    """The highest number that a build of the image has or had; 0 when there was none."""
    return max((int(key[-11:-5]) for key in store.list(f"builds/{image}/")), default=0)


def _key(image: str, number: int) -> str:
    return f"builds/{image}/{number:06d}.json"


def _text(built: Built) -> bytes:
    return built.model_copy(update={"reused": False}).model_dump_json().encode()


def _parse(stored: Stored, key: str) -> Built:
    try:
        return Built.model_validate(json.loads(stored.data))
    except (ValueError, ValidationError) as error:
        raise MeshctlError(
            "the record of a build cannot be read",
            place=key,
            hint="it was changed from outside; restore it, or remove it and build again",
        ) from error
