"""Reads objects of buckets by range: Cloud Storage, S3 and R2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.gcp import Calls
from meshctl.outside.objects_s3 import ANSWERS_OF_NOBODY, LOG_IN, LOOK
from meshctl.outside.ranges import Changed, Missing, Ranges
from meshctl.outside.storage import RestStorage
from meshctl.outside.upload import Uploaded


class GcsFolder:
    """Names that begin with `prefix` in a bucket of Cloud Storage."""

    def __init__(self, storage: RestStorage, bucket: str, prefix: str) -> None:
        self.storage, self.bucket, self.prefix = storage, bucket, prefix
        self.shown = f"gs://{bucket}/{prefix}"

    def open(self, name: str) -> Ranges:
        return GcsObject(self.storage, self.bucket, self.prefix + name)


class GcsObject:
    """One generation of one object: that which was there at the first read."""

    def __init__(self, storage: RestStorage, bucket: str, name: str) -> None:
        self.storage, self.bucket, self.name = storage, bucket, name
        self._found: Uploaded | None = None

    @property
    def size(self) -> int:
        return self._found.bytes if self._found else 0

    @property
    def version(self) -> str:
        return self._found.generation if self._found else ""

    def read(self, start: int, end: int) -> bytes:
        if self._found is None:
            self._found = self.storage.find(self.bucket, self.name)
        if self._found is None:
            place = f"gs://{self.bucket}/{self.name}"
            raise Missing("there is no such object", place=place, hint="check its name")
        end = min(end, self._found.bytes)
        return self.storage.part(self._found, start, end) if start < end else b""


class S3Folder:
    """Keys that begin with `prefix` in a bucket of S3 or R2; `place` is s3://NAME or r2://NAME."""

    def __init__(
        self, client: Callable[[], Any], place: str, bucket: str, prefix: str, calls: Calls
    ) -> None:
        self._make, self.place, self.bucket, self.prefix = client, place, bucket, prefix
        self.calls, self.shown = calls, f"{place}/{prefix}"
        self._made: Any = None

    def open(self, name: str) -> Ranges:
        if self._made is None:
            self._made = self._make()
        return S3Object(self._made, f"{self.shown}{name}", self.bucket, self.prefix + name,
                        self.calls)  # fmt: skip


class S3Object:
    """One object, held to the ETag of the first read."""

    def __init__(self, client: Any, place: str, bucket: str, key: str, calls: Calls) -> None:
        self.client, self.place, self.bucket, self.key = client, place, bucket, key
        self.calls, self.size, self._held = calls, 0, {}  # type: ignore[var-annotated]

    @property
    def version(self) -> str:
        return str(self._held.get("IfMatch", ""))

    def read(self, start: int, end: int) -> bytes:
        from botocore import exceptions as boto

        if end <= start:
            return b""
        self.calls.add(f"read {self.place} bytes {start}-{end - 1}")
        try:
            answer = self.client.get_object(
                Bucket=self.bucket, Key=self.key, Range=f"bytes={start}-{end - 1}", **self._held
            )
            return self._part(answer, start, end)
        except boto.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code == "InvalidRange":
                return b""
            raise self._refused(code, error.response["ResponseMetadata"]) from error
        except (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError) as error:
            raise Unreachable(f"no answer: {error}"[:200], place=self.place, hint=LOOK) from error
        except boto.BotoCoreError as error:
            raise Unreachable(f"no way in: {error}", place=self.place, hint=LOG_IN) from error

    def _part(self, answer: Any, start: int, end: int) -> bytes:
        match = re.fullmatch(
            r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})", answer.get("ContentRange", "")
        )
        if match is None or int(match[1]) != start or int(match[2]) >= end:
            raise Refused("the bucket knows no ranges", place=self.place, hint=LOOK)
        body = bytes(answer["Body"].read(end - start + 1))
        if len(body) != int(match[2]) + 1 - start:
            raise Unreachable("the answer was cut short", place=self.place, hint=LOOK)
        self.size, self._held = int(match[3]), {"IfMatch": answer["ETag"]}
        return body

    def _refused(self, code: str, about: Any) -> MeshctlError:
        status = about["HTTPStatusCode"]
        if code in ("NoSuchKey", "NoSuchBucket", "404") or status == 404:
            what = "bucket" if code == "NoSuchBucket" else "object"
            return Missing(f"there is no such {what}", place=self.place, hint="check its name")
        if status == 412:
            hint = "ask again, from the start"
            return Changed("it changed while it was read", place=self.place, hint=hint)
        if code in ANSWERS_OF_NOBODY or status in (429, 500, 502, 503, 504):
            return Unreachable(f"{code}, HTTP {status}", place=self.place, hint="ask again later")
        return Refused(f"it may not be read: {code}", place=self.place, hint=LOG_IN)
