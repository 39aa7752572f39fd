"""The routes of the Storage JSON API."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from aiohttp import web

from meshctl.emulator.answers import json_body
from meshctl.emulator.failures import invalid
from meshctl.emulator.storage import listing
from meshctl.emulator.storage.listing import bucket_json, object_json
from meshctl.emulator.storage.multipart import parse
from meshctl.emulator.storage.objects import Bucket, Conditions, Object, Store, digests
from meshctl.emulator.storage.uploads import Session, Uploads, content_range

B = "/storage/v1/b"
O = B + "/{bucket}/o"  # noqa: E741
ONE = O + "/{object:.+}"
UPLOAD = "/upload/storage/v1/b/{bucket}/o"
_BUCKET = re.compile(r"^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$")
"""A bucket's name becomes a folder's."""


def _number(request: web.Request, key: str) -> int | None:
    text = request.query.get(key)
    try:
        return int(text) if text is not None else None
    except ValueError:
        raise invalid(f"Invalid value for {key}: {text}") from None


def _conditions(request: web.Request) -> dict[str, int | None]:
    return {
        "generation": _number(request, "ifGenerationMatch"),
        "not_generation": _number(request, "ifGenerationNotMatch"),
        "metageneration": _number(request, "ifMetagenerationMatch"),
        "not_metageneration": _number(request, "ifMetagenerationNotMatch"),
    }


class StorageApi:
    """Buckets and objects over HTTP; bodies stream to and from the disk."""

    def __init__(self, store: Store, uploads: Uploads, base_url: str) -> None:
        self._store, self._uploads, self._base = store, uploads, base_url
        self._busy: dict[str, asyncio.Lock] = {}

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_post(B, self.create_bucket)
        router.add_get(B, self.list_buckets)
        router.add_get(B + "/{bucket}", self.get_bucket)
        router.add_delete(B + "/{bucket}", self.delete_bucket)
        router.add_get(O, self.list_objects)
        router.add_get(ONE, self.get_object)
        router.add_patch(ONE, self.patch_object)
        router.add_delete(ONE, self.delete_object)
        router.add_get("/download" + ONE, self.download)
        router.add_post(UPLOAD, self.upload)
        router.add_put(UPLOAD, self.resume)
        router.add_delete(UPLOAD, self.cancel)

    def _bucket(self, request: web.Request) -> Bucket:
        return self._store.bucket(request.match_info["bucket"])

    def _object(self, request: web.Request) -> tuple[Bucket, Object]:
        bucket = self._bucket(request)
        found = bucket.get(request.match_info["object"], _number(request, "generation"))
        Conditions(**_conditions(request)).check(found)
        return bucket, found

    async def create_bucket(self, request: web.Request) -> web.Response:
        """POST b?project="""
        body = await json_body(request)
        if not body.get("name"):
            raise invalid("Required parameter: name")
        if not _BUCKET.match(str(body["name"])):
            raise invalid(f"Invalid bucket name: '{body['name']}'")
        row = {"location": body.get("location", "US"), "project": request.query.get("project", "")}
        return web.json_response(bucket_json(self._store.create(body["name"], row), self._base))

    async def list_buckets(self, request: web.Request) -> web.Response:
        """GET b?project=&prefix="""
        return web.json_response(listing.buckets(self._store, dict(request.query), self._base))

    async def get_bucket(self, request: web.Request) -> web.Response:
        """GET a bucket."""
        return web.json_response(bucket_json(self._bucket(request), self._base))

    async def delete_bucket(self, request: web.Request) -> web.Response:
        """DELETE an empty bucket."""
        self._store.delete(request.match_info["bucket"])
        return web.Response(status=204)

    async def list_objects(self, request: web.Request) -> web.Response:
        """GET o?prefix=&delimiter=&pageToken=&maxResults="""
        rows = listing.objects(self._bucket(request), dict(request.query), self._base)
        return web.json_response(rows)

    async def get_object(self, request: web.Request) -> web.StreamResponse:
        """GET an object's description, or its bytes with alt=media."""
        if request.query.get("alt") == "media":
            return await self.download(request)
        bucket, found = self._object(request)
        return web.json_response(object_json(bucket, found, self._base))

    async def patch_object(self, request: web.Request) -> web.Response:
        """PATCH an object's own metadata; the metageneration rises."""
        bucket, found = self._object(request)
        body = await json_body(request)
        if "metadata" in body:
            merged = found.metadata | (body["metadata"] or {})
            found.metadata = {k: v for k, v in merged.items() if v is not None}
        found.content_type = body.get("contentType") or found.content_type
        found.metageneration += 1
        bucket.save(found)
        return web.json_response(object_json(bucket, found, self._base))

    async def delete_object(self, request: web.Request) -> web.Response:
        """DELETE an object."""
        when = Conditions(**_conditions(request))
        generation = _number(request, "generation")
        self._bucket(request).delete(request.match_info["object"], generation, when)
        return web.Response(status=204)

    async def download(self, request: web.Request) -> web.StreamResponse:
        """The bytes, whole or by Range."""
        bucket, found = self._object(request)
        headers = {
            "Content-Type": found.content_type,
            "X-Goog-Hash": f"crc32c={found.crc32c},md5={found.md5}",
            "X-Goog-Generation": str(found.generation),
            "X-Goog-Metageneration": str(found.metageneration),
            "X-Goog-Stored-Content-Length": str(found.size),
        }
        return web.FileResponse(bucket.data(found), headers=headers)

    async def upload(self, request: web.Request) -> web.Response:
        """POST o?uploadType=media|multipart|resumable"""
        kind = request.query.get("uploadType")
        bucket = self._bucket(request)
        if kind == "resumable":
            return await self._begin(request, bucket)
        part = self._store.part()
        attributes: dict[str, Any] = {}
        try:
            if kind == "multipart":
                attributes = await _receive_multipart(request, part)
            else:
                attributes["contentType"] = request.headers.get("Content-Type")
                await _receive(request, part)
            name = request.query.get("name") or attributes.get("name")
            return await self._finish(request, bucket, name, part, attributes)
        finally:
            part.unlink(missing_ok=True)

    async def _finish(
        self,
        request: web.Request,
        bucket: Bucket,
        name: str | None,
        part: Path,
        attributes: dict[str, Any],
    ) -> web.Response:
        if not name:
            raise invalid("Required parameter: name")
        sums = await asyncio.to_thread(digests, part)
        when = Conditions(**_conditions(request))
        found = bucket.put(name, part, sums, attributes, when)
        return web.json_response(object_json(bucket, found, self._base))

    async def _begin(self, request: web.Request, bucket: Bucket) -> web.Response:
        attributes = await json_body(request)
        name = request.query.get("name") or attributes.get("name")
        if not name:
            raise invalid("Required parameter: name")
        attributes.setdefault("contentType", request.headers.get("X-Upload-Content-Type"))
        conditions = _conditions(request)
        Conditions(**conditions).check(bucket.objects.get(name))
        session = self._uploads.begin(bucket.name, name, attributes, conditions)
        place = f"{self._base}/upload/storage/v1/b/{bucket.name}/o"
        headers = {"Location": f"{place}?uploadType=resumable&upload_id={session.id}"}
        return web.Response(status=200, headers=headers | {"X-GUploader-UploadID": session.id})

    async def resume(self, request: web.Request) -> web.Response:
        """PUT bytes of a session, or ask with `bytes */N` how far it has come."""
        session = self._uploads.get(request.query.get("upload_id", ""))
        async with self._busy.setdefault(session.id, asyncio.Lock()):
            session = self._uploads.get(session.id)
            bucket = self._store.bucket(session.bucket)
            if session.done is not None:
                found = bucket.get(session.name)
                return web.json_response(object_json(bucket, found, self._base))
            return await self._continue(request, session, bucket)

    async def _continue(
        self, request: web.Request, session: Session, bucket: Bucket
    ) -> web.Response:
        place = content_range(request.headers.get("Content-Range"))
        if place.first is not None:
            body = request.content.iter_chunked(1 << 20)
            await self._uploads.append(session, place.first, body)
        have = self._uploads.received(session)
        whole = place.total if place.total is not None else None
        if request.headers.get("Content-Range") is None:
            whole = have
        if whole is None or have < whole:
            headers = {"Range": f"bytes=0-{have - 1}"} if have else {}
            return web.Response(status=308, headers=headers)
        return await self._complete(session, bucket)

    async def _complete(self, session: Session, bucket: Bucket) -> web.Response:
        part = self._uploads.part(session)
        sums = await asyncio.to_thread(digests, part)
        when = Conditions(**session.conditions)
        found = bucket.put(session.name, part, sums, session.attributes, when)
        session.done = found.generation
        self._uploads.save(session)
        return web.json_response(object_json(bucket, found, self._base))

    async def cancel(self, request: web.Request) -> web.Response:
        """DELETE a session: Storage answers 499."""
        self._uploads.cancel(self._uploads.get(request.query.get("upload_id", "")))
        return web.Response(status=499)


async def _receive(request: web.Request, part: Path) -> None:
    with part.open("wb") as file:
        async for chunk in request.content.iter_chunked(1 << 20):
            file.write(chunk)


async def _receive_multipart(request: web.Request, part: Path) -> dict[str, Any]:
    """The first part is the JSON description, the second the bytes."""
    found = parse(request.headers.get("Content-Type", ""), await request.read())
    part.write_bytes(found.data)
    return {"contentType": found.content_type, **found.attributes}
