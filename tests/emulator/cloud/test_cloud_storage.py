"""Storage through the real client and raw requests: preconditions, ranges, listing, resuming."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import google_crc32c
import pytest
from google.api_core import exceptions

from tests.emulator.cloud.embedded import fetch


@pytest.fixture
def bucket(shared: Any) -> Any:
    bucket = shared.storage.bucket("things")
    if not bucket.exists():
        shared.storage.create_bucket("things")
    yield bucket
    for blob in list(bucket.list_blobs()):
        blob.delete()


def test_an_object_comes_back_with_its_checksums(bucket: Any) -> None:
    data = bytes(range(256)) * 5000
    blob = bucket.blob("a/b c%2F.bin")
    blob.metadata = {"who": "me"}

    blob.upload_from_string(data, content_type="x/y", retry=None)

    found = bucket.get_blob("a/b c%2F.bin")
    assert found.download_as_bytes() == data
    assert found.download_as_bytes(start=10, end=19) == data[10:20]
    assert found.md5_hash == base64.b64encode(hashlib.md5(data).digest()).decode()
    assert found.crc32c == base64.b64encode(google_crc32c.Checksum(data).digest()).decode()
    assert (found.size, found.content_type, found.metadata) == (len(data), "x/y", {"who": "me"})


def test_generation_zero_means_must_not_exist(bucket: Any) -> None:
    bucket.blob("once").upload_from_string("1", if_generation_match=0, retry=None)

    with pytest.raises(exceptions.PreconditionFailed, match="conditionNotMet"):
        bucket.blob("once").upload_from_string("2", if_generation_match=0, retry=None)

    assert bucket.blob("once").download_as_text() == "1"


def test_a_write_under_an_old_generation_is_refused(bucket: Any) -> None:
    blob = bucket.blob("doc")
    blob.upload_from_string("1", retry=None)
    first = blob.generation
    blob.upload_from_string("2", if_generation_match=first, retry=None)

    with pytest.raises(exceptions.PreconditionFailed):
        blob.upload_from_string("3", if_generation_match=first, retry=None)
    with pytest.raises(exceptions.PreconditionFailed):
        blob.delete(if_generation_match=first)

    assert blob.download_as_text() == "2"


def test_listing_folds_prefixes_and_pages(bucket: Any) -> None:
    for name in ("runs/1/a", "runs/1/b", "runs/2/a", "top"):
        bucket.blob(name).upload_from_string("x", retry=None)

    rows = bucket.list_blobs(prefix="runs/", delimiter="/")

    assert list(rows) == [] and rows.prefixes == {"runs/1/", "runs/2/"}
    pages = bucket.list_blobs(page_size=3).pages
    assert [[b.name for b in page] for page in pages] == [
        ["runs/1/a", "runs/1/b", "runs/2/a"],
        ["top"],
    ]


def test_what_is_missing_is_not_found(shared: Any, bucket: Any) -> None:
    with pytest.raises(exceptions.NotFound):
        bucket.blob("none").download_as_bytes()
    with pytest.raises(exceptions.NotFound):
        bucket.blob("none").delete()

    assert bucket.get_blob("none") is None
    assert not shared.storage.bucket("none").exists()


def test_a_bucket_with_objects_is_not_deleted(shared: Any) -> None:
    bucket = shared.storage.create_bucket("full")
    bucket.blob("x").upload_from_string("x", retry=None)

    with pytest.raises(exceptions.Conflict):
        bucket.delete()
    bucket.delete(force=True)

    assert not bucket.exists()


def test_a_resumable_upload_goes_on_where_it_was_cut(bucket: Any) -> None:
    data = bytes(range(256)) * 4096
    url = bucket.blob("big").create_resumable_upload_session(size=len(data))
    half = len(data) // 2

    def put(body: bytes, place: str) -> tuple[int, Any, bytes]:
        return fetch(url, method="PUT", data=body, headers={"Content-Range": place})

    total = len(data)
    empty = put(b"", f"bytes */{total}")
    first = put(data[:half], f"bytes 0-{half - 1}/{total}")
    asked = put(b"", f"bytes */{total}")
    last = put(data[half - 10 :], f"bytes {half - 10}-{total - 1}/{total}")
    again = put(b"", f"bytes */{total}")

    assert [r[0] for r in (empty, first, asked, last, again)] == [308, 308, 308, 200, 200]
    assert "Range" not in empty[1]
    assert first[1]["Range"] == asked[1]["Range"] == f"bytes=0-{half - 1}"
    assert bucket.blob("big").download_as_bytes() == data


def test_the_library_uploads_in_chunks(bucket: Any) -> None:
    data = b"0123456789abcdef" * (50 << 10)
    blob = bucket.blob("chunks", chunk_size=256 << 10)

    blob.upload_from_string(data, retry=None)

    assert blob.download_as_bytes() == data


def test_a_resumable_upload_keeps_its_precondition_to_the_end(bucket: Any) -> None:
    url = bucket.blob("raced").create_resumable_upload_session(size=3, if_generation_match=0)
    bucket.blob("raced").upload_from_string("first", retry=None)

    status, _, _ = fetch(url, method="PUT", data=b"two")

    assert status == 412
    assert bucket.blob("raced").download_as_text() == "first"
