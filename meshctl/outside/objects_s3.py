"""A bucket of S3, or of R2 and others that speak it: ETags as conditions, and nothing is deleted.

S3's own buckets delete under a condition; others ignore it, and would take away what somebody else
has just written. So what is removed is written over with nothing, under the condition that every
one of them must keep: an empty object counts as none.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from meshctl.errors import MeshctlError, Refused, Unreachable, UsageError
from meshctl.outside.gcp import Calls, LostAnswer
from meshctl.outside.objects import Stored
from meshctl.outside.objects_bucket import (
    ANSWER_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    Written,
    forbidden,
    missing_bucket,
)

MARK = "meshctl-write"
NEEDS = "s3:GetObject, s3:PutObject and s3:ListBucket on it"
LOG_IN = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
ANSWERS_OF_NOBODY = ("ConditionalRequestConflict", "SlowDown", "RequestTimeout", "OperationAborted")
BAD_KEYS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
            "InvalidClientTokenId", "Unauthorized")  # fmt: skip
ELSEWHERE = ("PermanentRedirect", "AuthorizationHeaderMalformed", "TemporaryRedirect", "301",
             "IllegalLocationConstraintException")  # fmt: skip


class S3Bucket:
    """`place` is how people write it (s3://NAME or r2://NAME); `client` makes the boto3 client."""

    def __init__(self, place: str, name: str, client: Callable[[], Any], calls: Calls) -> None:
        self.place, self.name, self.calls = place, name, calls
        self._make, self._guard = client, threading.Lock()
        self._made: Any = None

    @property
    def endpoint(self) -> str:
        with self._in_our_words():
            return str(self._client().meta.endpoint_url)

    def get(self, key: str) -> Stored | None:
        found = self._get("get", key)
        return Stored(found[0], found[1]["ETag"]) if found and found[0] else None

    def look(self, key: str) -> Written | None:
        found = self._get("look", key)
        if not found or not found[0]:
            return None
        return Written(found[1]["Metadata"].get(MARK, ""), found[1]["ETag"])

    def put(self, key: str, data: bytes, mark: str, generation: str | None) -> str | None:
        if not data:
            raise ValueError("an empty object counts as none")
        if generation:
            return self._put(key, data, mark, IfMatch=generation)
        written = self._put(key, data, mark, IfNoneMatch="*")
        return written or self._over_what_was_removed(key, data, mark)

    def remove(self, key: str, generation: str) -> bool:
        return self._put(key, b"", "", IfMatch=generation) is not None

    def keys(self, prefix: str) -> list[str]:
        found: list[str] = []
        with self._call("list", prefix) as client:
            pages = client.get_paginator("list_objects_v2")
            for number, page in enumerate(pages.paginate(Bucket=self.name, Prefix=prefix)):
                if number:
                    self.calls.add(f"state list {prefix} page {number + 1}")
                found.extend(one["Key"] for one in page.get("Contents", ()) if one["Size"])
        return found

    def _over_what_was_removed(self, key: str, data: bytes, mark: str) -> str | None:
        found = self._get("look", key)
        if found is None or found[0]:
            return None
        return self._put(key, data, mark, IfMatch=found[1]["ETag"])

    def _get(self, call: str, key: str) -> tuple[bytes, Any] | None:
        from botocore.exceptions import ClientError

        with self._call(call, key) as client:
            try:
                answer = client.get_object(Bucket=self.name, Key=key)
            except ClientError as error:
                if _code(error) == "NoSuchKey":
                    return None
                raise
            return answer["Body"].read(), answer

    def _put(self, key: str, data: bytes, mark: str, **condition: str) -> str | None:
        from botocore.exceptions import ClientError

        with self._call("put" if data else "remove", key) as client:
            about = {"ContentType": "application/json", "Metadata": {MARK: mark}}
            try:
                answer = client.put_object(
                    Bucket=self.name, Key=key, Body=data, **about, **condition
                )
            except ClientError as error:
                if _code(error) in ("PreconditionFailed", "412", "NoSuchKey"):
                    return None
                raise
            return str(answer["ETag"])

    @contextlib.contextmanager
    def _call(self, call: str, key: str) -> Iterator[Any]:
        self.calls.add(f"state {call} {key}")
        with self._in_our_words():
            yield self._client()

    @contextlib.contextmanager
    def _in_our_words(self) -> Iterator[None]:
        from botocore import exceptions as boto

        try:
            yield
        except boto.ClientError as error:
            raise self._answered(error) from error
        except boto.ParamValidationError as error:
            raise UsageError(str(error), place=self.place, hint=LOOK) from error
        except (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError) as error:
            raise LostAnswer(f"no answer: {error}"[:200], place=self.place, hint=LOOK) from error
        except boto.BotoCoreError as error:
            raise Unreachable(f"no way in: {error}", place=self.place, hint=LOG_IN) from error

    def _answered(self, error: Any) -> MeshctlError:
        code, status = _code(error), error.response["ResponseMetadata"]["HTTPStatusCode"]
        said = f"{code}: {error.response['Error'].get('Message', '')}"
        if code in ANSWERS_OF_NOBODY or status in (429, 500, 502, 503, 504):
            return LostAnswer(said, place=self.place, hint=LOOK)
        if code == "NoSuchBucket":
            return missing_bucket(self.place, f"aws s3api create-bucket --bucket {self.name}")
        if code in BAD_KEYS:
            return Refused(f"the credentials are not taken: {said}", place=self.place, hint=LOG_IN)
        if code in ELSEWHERE:
            message = f"the bucket is elsewhere: {said}"
            return UsageError(message, place=self.place, hint=ELSEWHERE_HINT)
        if status == 501:
            return Refused(
                f"{self.endpoint} knows no conditional writes: {said}",
                place=self.place,
                hint="keep the state where they are kept: gs://, s3:// on AWS, r2://, a folder",
            )
        if status == 403:
            return forbidden(self.place, said, NEEDS)
        return Refused(f"the bucket does not take it: {said}", place=self.place, hint=LOOK)

    def _client(self) -> Any:
        with self._guard:
            if self._made is None:
                try:
                    self._made = self._make()
                except ValueError as error:  # an endpoint that is no URL
                    raise UsageError(str(error), place=self.place, hint=ELSEWHERE_HINT) from error
            return self._made


LOOK = "check the network and the endpoint, then try again"
ELSEWHERE_HINT = "name its region: AWS_REGION, or its endpoint: AWS_ENDPOINT_URL_S3"


def s3_client(endpoint: str | None, region: str | None, keys: tuple[str, str] | None) -> Any:
    """A boto3 client that tries once; endpoint, region and keys are the environment's unless they
    are given. Checksums in trailers are left out: many endpoints refuse them."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=ANSWER_TIMEOUT_S,
        max_pool_connections=16,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    access, secret = keys or (None, None)
    return boto3.session.Session().client(
        "s3",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        config=config,
    )


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
