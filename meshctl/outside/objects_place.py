"""Opens the store that a place of state names: a folder, or gs://, s3:// or r2://BUCKET/PREFIX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from meshctl.errors import UsageError
from meshctl.outside.clock import Clock
from meshctl.outside.gcp import Calls
from meshctl.outside.objects_bucket import Bucket, BucketStore
from meshctl.outside.objects_probe import ProbedStore

Scheme = Literal["gs", "s3", "r2"]
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9._=@+-]+(/[A-Za-z0-9._=@+-]+)*")


@dataclass(frozen=True)
class BucketPlace:
    """`gs://my-bucket/meshctl` in its parts; `prefix` ends with a slash, or is empty."""

    scheme: Scheme
    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.prefix}".rstrip("/")


def place_of(text: str) -> Path | BucketPlace:
    """Where the state is. Raises UsageError for a place that is neither folder nor bucket."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Path(text)
    if scheme not in ("gs", "s3", "r2"):
        hint = "give a folder, or gs://, s3:// or r2://BUCKET/PREFIX"
        raise UsageError(f"{scheme}:// is no place for state", place=text, hint=hint)
    bucket, _, prefix = rest.strip("/").partition("/")
    parts = prefix.split("/")
    sound = not prefix or (_PREFIX.fullmatch(prefix) and not {".", ".."} & set(parts))
    if not _BUCKET.fullmatch(bucket) or not sound:
        raise UsageError(
            "this is no BUCKET/PREFIX",
            place=text,
            hint="a bucket is lowercase letters, digits, . _ and -; a prefix is names and slashes",
        )
    return BucketPlace(scheme, bucket, f"{prefix}/" if prefix else "")  # type: ignore[arg-type]


def open_bucket(
    place: BucketPlace, environ: Mapping[str, str], clock: Clock, calls: Calls
) -> ProbedStore:
    """The store in a bucket; nothing is asked before it is used. Raises UsageError for an R2 bucket
    without an account."""
    bucket = _bucket(place, environ, calls)
    store = BucketStore(bucket, place.prefix, clock, calls.note)
    return ProbedStore(store, lambda: bucket.endpoint, str(place), clock)


def _bucket(place: BucketPlace, environ: Mapping[str, str], calls: Calls) -> Bucket:
    if place.scheme == "gs":
        from meshctl.outside.objects_gcs import GcsBucket

        return GcsBucket(place.bucket, emulator_of(environ), calls)
    from meshctl.outside.objects_s3 import S3Bucket, s3_client

    endpoint = r2_endpoint(place, environ) if place.scheme == "r2" else None
    region = "auto" if place.scheme == "r2" else None
    keys = r2_keys(environ) if place.scheme == "r2" else None

    def client() -> Any:
        return s3_client(endpoint, region, keys)

    return S3Bucket(f"{place.scheme}://{place.bucket}", place.bucket, client, calls)


def emulator_of(environ: Mapping[str, str]) -> str | None:
    """The word that every client of Cloud Storage knows for a double of it."""
    host = environ.get("STORAGE_EMULATOR_HOST", "").rstrip("/")
    return host if not host or "://" in host else f"http://{host}"


def r2_endpoint(place: BucketPlace, environ: Mapping[str, str]) -> str:
    """MESHCTL_R2_ENDPOINT, else that of R2_ACCOUNT_ID, else AWS_ENDPOINT_URL_S3."""
    if endpoint := environ.get("MESHCTL_R2_ENDPOINT"):
        return endpoint
    if account := environ.get("R2_ACCOUNT_ID"):
        return f"https://{account}.r2.cloudflarestorage.com"
    if endpoint := environ.get("AWS_ENDPOINT_URL_S3"):
        return endpoint
    raise UsageError(
        "nothing says which account this R2 bucket is in",
        place=str(place),
        hint="set R2_ACCOUNT_ID, or MESHCTL_R2_ENDPOINT=https://ACCOUNT.r2.cloudflarestorage.com",
    )


def r2_keys(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Keys of R2's own, where AWS_* are for something else."""
    access, secret = environ.get("R2_ACCESS_KEY_ID"), environ.get("R2_SECRET_ACCESS_KEY")
    return (access, secret) if access and secret else None
