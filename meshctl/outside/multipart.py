"""Sends an object to a bucket of S3 or R2 in parts, so that another process can go on with it.

Nothing is written over: the parts become an object only where there is none of that name. Each part
carries its MD5, by which the store refuses one that was damaged on its way. The sha256 of the whole
is kept as metadata, for what S3 calls a checksum of such an object is one of checksums.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from meshctl.errors import Refused
from meshctl.outside.objects_s3 import S3Bucket

SHA256 = "sha256"
"""The name in the metadata: x-amz-meta-sha256."""
MISSING = ("404", "NoSuchKey", "NotFound")
OVER = ("NoSuchUpload", "404")
TAKEN = ("PreconditionFailed", "412")


@dataclass(frozen=True)
class Kept:
    """An object as the store describes it; `sha256` is what its metadata claims, or empty."""

    bytes: int
    version: str
    sha256: str


@dataclass(frozen=True)
class Part:
    """A part that the store has."""

    bytes: int
    etag: str


class S3Uploads(S3Bucket):
    """The same bucket, for objects too large for one request."""

    def kept(self, key: str) -> Kept | None:
        """The object of that name; None when there is none."""
        found = self._ask(f"look at {key}", "head_object", MISSING, Key=key)
        if found is None:
            return None
        claimed = str(found.get("Metadata", {}).get(SHA256, ""))
        return Kept(int(found["ContentLength"]), str(found["ETag"]), claimed)

    def begin(self, key: str, sha256: str) -> str:
        """The id of a new upload. What is begun and never ended, the store keeps for days."""
        about = {"ContentType": "application/octet-stream", "Metadata": {SHA256: sha256}}
        begun = self._ask(f"begin {key}", "create_multipart_upload", (), Key=key, **about)
        return str(begun["UploadId"])

    def parts(self, key: str, upload: str) -> dict[int, Part] | None:
        """The parts that are there, by number; None when the upload is over."""
        found: dict[int, Part] = {}
        after: dict[str, Any] = {}
        while True:
            page = self._ask(f"list parts of {key}", "list_parts", OVER, Key=key, UploadId=upload,
                             **after)  # fmt: skip
            if page is None:
                return None
            for one in page.get("Parts", ()):
                found[int(one["PartNumber"])] = Part(int(one["Size"]), str(one["ETag"]))
            if not page.get("IsTruncated"):
                return found
            after = {"PartNumberMarker": page["NextPartNumberMarker"]}

    def send(self, key: str, upload: str, number: int, data: bytes) -> Part:
        """One part; the store refuses it when its bytes are not those that were sent."""
        md5 = base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
        sent = self._ask(f"send part {number} of {key}", "upload_part", (), Key=key,
                         UploadId=upload, PartNumber=number, Body=data, ContentMD5=md5)  # fmt: skip
        return Part(len(data), str(sent["ETag"]))

    def finish(self, key: str, upload: str, parts: Mapping[int, Part]) -> bool:
        """The object, where there is none of that name; False where there is one, or the upload is
        over, for an answer that was lost may have ended it."""
        listed = [{"PartNumber": n, "ETag": part.etag} for n, part in sorted(parts.items())]
        done = self._ask(f"finish {key}", "complete_multipart_upload", (*TAKEN, *OVER), Key=key,
                         UploadId=upload, MultipartUpload={"Parts": listed},
                         IfNoneMatch="*")  # fmt: skip
        return done is not None

    def give_up(self, key: str, upload: str) -> None:
        """The parts are thrown away; an upload that is over stays so."""
        self._ask(f"give up {key}", "abort_multipart_upload", OVER, Key=key, UploadId=upload)

    def _ask(self, said: str, call: str, absent: tuple[str, ...], **about: Any) -> Any:
        """The answer; None for the refusals that `absent` names."""
        from botocore.exceptions import ClientError

        self.calls.add(f"{self.place}: {said}")
        with self._in_our_words():
            try:
                return getattr(self._client(), call)(Bucket=self.name, **about)
            except ClientError as error:
                code = str(error.response.get("Error", {}).get("Code", ""))
                if code in absent:
                    return None
                if error.response["ResponseMetadata"]["HTTPStatusCode"] == 501:
                    raise self._knows_no_conditions(code) from error
                raise

    def _knows_no_conditions(self, code: str) -> Refused:
        return Refused(
            f"{self.endpoint} does not know what this needs: {code}", place=self.place,
            hint="publish to s3:// on AWS, or to r2://: they write nothing over when told so",
        )  # fmt: skip
