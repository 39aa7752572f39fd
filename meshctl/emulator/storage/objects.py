"""Buckets and objects on a folder: one small JSON and one data file per object."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import shutil
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import google_crc32c

from meshctl.emulator import disk
from meshctl.emulator.failures import ApiError, invalid
from meshctl.emulator.moment import now_us

_CHUNK = 1 << 20


@dataclass(slots=True)
class Object:
    """What is known of one object's live generation."""

    name: str
    generation: int
    size: int
    md5: str
    crc32c: str
    content_type: str
    created: int
    updated: int
    metageneration: int = 1
    metadata: dict[str, str] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)  # cacheControl, contentEncoding...


@dataclass(frozen=True)
class Conditions:
    """Preconditions of a request (None = not asked)."""

    generation: int | None = None
    not_generation: int | None = None
    metageneration: int | None = None
    not_metageneration: int | None = None

    def check(self, live: Object | None) -> None:
        """412 conditionNotMet; generation 0 means "must not exist"."""
        generation = live.generation if live else 0
        metageneration = live.metageneration if live else 0
        met = (
            (self.generation is None or self.generation == generation)
            and (self.not_generation is None or self.not_generation != generation)
            and (self.metageneration is None or self.metageneration == metageneration)
            and (self.not_metageneration is None or self.not_metageneration != metageneration)
        )
        if not met:
            raise ApiError(
                "FAILED_PRECONDITION",
                "At least one of the pre-conditions you specified did not hold.",
                http=412,
                reason="conditionNotMet",
            )


@dataclass(frozen=True)
class Digests:
    """Size and checksums of a data file, base64 as the API writes them."""

    size: int
    md5: str
    crc32c: str


def digests(path: Path) -> Digests:
    """Read a file once for all its checksums. Blocking."""
    md5, crc, size = hashlib.md5(usedforsecurity=False), 0, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            md5.update(chunk)
            crc = google_crc32c.extend(crc, chunk)
            size += len(chunk)
        os.fsync(file.fileno())
    return Digests(
        size,
        base64.b64encode(md5.digest()).decode(),
        base64.b64encode(crc.to_bytes(4, "big")).decode(),
    )


def not_found(what: str) -> ApiError:
    """404 with the reason Storage gives."""
    return ApiError("NOT_FOUND", what, reason="notFound")


class Bucket:
    """One bucket: its objects by name, their files below its folder."""

    def __init__(self, folder: Path, row: dict[str, Any]) -> None:
        self.row, self._folder = row, folder
        self.name: str = row["name"]
        self.objects: dict[str, Object] = {}
        for entry in disk.read_all(folder / "meta"):
            found = Object(**entry)
            self.objects[found.name] = found
        (folder / "data").mkdir(parents=True, exist_ok=True)
        self._drop_strays()

    def _drop_strays(self) -> None:
        """Remove data that a kill left behind between the bytes and their description."""
        live = {str(found.generation) for found in self.objects.values()}
        for path in (self._folder / "data").iterdir():
            if path.name not in live:
                disk.remove(path)

    def data(self, found: Object) -> Path:
        """Where an object's bytes lie."""
        return self._folder / "data" / str(found.generation)

    def _meta(self, name: str) -> Path:
        return self._folder / "meta" / f"{hashlib.sha256(name.encode()).hexdigest()}.json"

    def get(self, name: str, generation: int | None = None) -> Object:
        """The live object (of that generation when given); ApiError 404."""
        found = self.objects.get(name)
        if found is None or generation not in (None, found.generation):
            raise not_found(f"No such object: {self.name}/{name}")
        return found

    def put(
        self, name: str, part: Path, sums: Digests, attributes: dict[str, Any], when: Conditions
    ) -> Object:
        """Take over a finished file as the new live generation, if the conditions hold.

        Check and change happen without a pause between, so two writers cannot both win.
        """
        old = self.objects.get(name)
        when.check(old)
        _check_sums(attributes, sums)
        now = now_us()
        new = Object(
            name,
            now,
            sums.size,
            sums.md5,
            sums.crc32c,
            attributes.get("contentType") or "application/octet-stream",
            now,
            now,
            metadata=attributes.get("metadata") or {},
            extra=_extra(attributes),
        )
        os.replace(part, self.data(new))
        self.objects[name] = new
        self.save(new)
        if old is not None:
            disk.remove(self.data(old))
        return new

    def save(self, found: Object) -> None:
        """Write an object's description down."""
        disk.write_json(self._meta(found.name), asdict(found))

    def delete(self, name: str, generation: int | None, when: Conditions) -> None:
        """Remove an object; ApiError 404 or 412."""
        found = self.get(name, generation)
        when.check(found)
        del self.objects[name]
        disk.remove(self._meta(name))
        disk.remove(self.data(found))


def _check_sums(attributes: dict[str, Any], sums: Digests) -> None:
    for key, mine in (("md5Hash", sums.md5), ("crc32c", sums.crc32c)):
        if attributes.get(key) and attributes[key] != mine:
            given = attributes[key]
            raise invalid(f'Provided {key} "{given}" doesn\'t match calculated "{mine}".')


def _extra(attributes: dict[str, Any]) -> dict[str, str]:
    keys = ("cacheControl", "contentEncoding", "contentDisposition", "contentLanguage")
    return {key: attributes[key] for key in keys if attributes.get(key)}


class Store:
    """All buckets."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.incoming = folder / "incoming"
        disk.remove(self.incoming)  # parts of uploads that were cut; sessions have their own place
        self.incoming.mkdir(parents=True, exist_ok=True)
        self.buckets: dict[str, Bucket] = {}
        for path in sorted(folder.glob("buckets/*/bucket.json")):
            self.buckets[path.parent.name] = Bucket(path.parent, disk.read_json(path))

    def bucket(self, name: str) -> Bucket:
        """One bucket; ApiError 404."""
        if name not in self.buckets:
            raise not_found("The specified bucket does not exist.")
        return self.buckets[name]

    def create(self, name: str, row: dict[str, Any]) -> Bucket:
        """Make a bucket; ApiError 409 when there is one of that name."""
        if name in self.buckets:
            raise ApiError(
                "ALREADY_EXISTS",
                "Your previous request to create the named bucket succeeded and "
                "you already own it.",
                reason="conflict",
            )
        folder = self._folder / "buckets" / name
        disk.write_json(folder / "bucket.json", row | {"name": name})
        self.buckets[name] = Bucket(folder, row | {"name": name})
        return self.buckets[name]

    def delete(self, name: str) -> None:
        """Remove an empty bucket; ApiError 409 when it is not."""
        if self.bucket(name).objects:
            raise ApiError(
                "FAILED_PRECONDITION",
                "The bucket you tried to delete is not empty.",
                http=409,
                reason="conflict",
            )
        del self.buckets[name]
        disk.remove(self._folder / "buckets" / name)

    def part(self) -> Path:
        """A new place for incoming bytes."""
        return self.incoming / uuid.uuid4().hex

    async def put_file(self, bucket: str, name: str, source: Path, content_type: str) -> Object:
        """Store a copy of a local file, as the cloud's own services do (build logs)."""
        part = self.part()
        await asyncio.to_thread(_copy, source, part)
        sums = await asyncio.to_thread(digests, part)
        attributes = {"contentType": content_type}
        return self.bucket(bucket).put(name, part, sums, attributes, Conditions())


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
