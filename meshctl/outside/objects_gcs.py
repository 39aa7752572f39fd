"""A bucket of Cloud Storage: the real client, one try a call, generations as conditions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from meshctl.errors import MeshctlError, Unreachable
from meshctl.outside.gcp import ApiError, Calls, Cloud, LostAnswer, credentials, translated
from meshctl.outside.objects import Stored
from meshctl.outside.objects_bucket import (
    ANSWER_TIMEOUT_S,
    CONNECT_TIMEOUT_S,
    Written,
    forbidden,
    missing_bucket,
)

MARK = "meshctl-write"
REAL = "https://storage.googleapis.com"
NEEDS = "roles/storage.objectUser on the bucket"
_ONCE: dict[str, Any] = {"retry": None, "timeout": (CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S)}


class GcsBucket:
    """`emulator` is the URL of a double of Cloud Storage (STORAGE_EMULATOR_HOST), or None."""

    def __init__(self, name: str, emulator: str | None, calls: Calls) -> None:
        self.name, self.calls = name, calls
        self.cloud = Cloud("", "", emulator)
        self.endpoint = emulator or REAL
        self._guard = threading.Lock()
        self._made: Any = None

    def get(self, key: str) -> Stored | None:
        from google.api_core.exceptions import NotFound
        from google.cloud.storage.exceptions import DataCorruption

        with self._call("get", key):
            blob = self._blob(key)
            try:
                data = blob.download_as_bytes(**_ONCE)
            except NotFound as error:
                _about_an_object(error)
                return None
            except DataCorruption as error:
                raise LostAnswer("an object came damaged", place=f"gs://{self.name}") from error
            return Stored(data, str(blob.generation))

    def look(self, key: str) -> Written | None:
        from google.api_core.exceptions import NotFound

        with self._call("look", key):
            blob = self._blob(key)
            try:
                blob.reload(**_ONCE)
            except NotFound as error:
                _about_an_object(error)
                return None
            return Written((blob.metadata or {}).get(MARK, ""), str(blob.generation))

    def put(self, key: str, data: bytes, mark: str, generation: str | None) -> str | None:
        from google.api_core.exceptions import NotFound, PreconditionFailed

        with self._call("put", key):
            blob = self._blob(key)
            blob.metadata = {MARK: mark}
            expected = int(generation) if generation else 0
            try:
                blob.upload_from_string(
                    data, content_type="application/json", if_generation_match=expected, **_ONCE
                )
            except PreconditionFailed:
                return None
            except NotFound as error:
                _about_an_object(error)
                return None
            return str(blob.generation)

    def remove(self, key: str, generation: str) -> bool:
        from google.api_core.exceptions import NotFound, PreconditionFailed

        with self._call("remove", key):
            try:
                self._blob(key).delete(if_generation_match=int(generation), **_ONCE)
            except PreconditionFailed:
                return False
            except NotFound as error:
                _about_an_object(error)
                return False
            return True

    def keys(self, prefix: str) -> list[str]:
        found: list[str] = []
        with self._call("list", prefix):
            fields = "items(name),nextPageToken"
            blobs = self._client().list_blobs(self.name, prefix=prefix, fields=fields, **_ONCE)
            for number, page in enumerate(blobs.pages):
                if number:
                    self.calls.add(f"state list {prefix} page {number + 1}")
                found.extend(blob.name for blob in page)
        return found

    @contextlib.contextmanager
    def _call(self, call: str, key: str) -> Iterator[None]:
        self.calls.add(f"state {call} {key}")
        place = f"gs://{self.name}"
        try:
            with translated(self.cloud, place):
                yield
        except ApiError as error:
            raise self._refused(error, place) from error
        except LostAnswer:
            raise
        except Unreachable as error:
            raise Unreachable(error.message, place=place, hint=error.hint) from error

    def _refused(self, error: ApiError, place: str) -> MeshctlError:
        if error.status == "NOT_FOUND":
            make = f"gcloud storage buckets create {place} --uniform-bucket-level-access"
            return missing_bucket(place, make)
        if error.status == "ABORTED":  # 409: others write the same object at this moment
            return LostAnswer(error.message, place=place)
        if error.status == "PERMISSION_DENIED":
            return forbidden(place, error.message, NEEDS)
        return error

    def _blob(self, key: str) -> Any:
        return self._client().bucket(self.name).blob(key)

    def _client(self) -> Any:
        with self._guard:
            if self._made is None:
                from google.cloud.storage import Client

                options = {"api_endpoint": self.cloud.endpoint} if self.cloud.endpoint else None
                self._made = Client(
                    project="unused",
                    credentials=credentials(self.cloud),
                    client_options=options,
                )
            return self._made


def _about_an_object(error: Any) -> None:
    """Raises the error again unless it says that it is about an object: a bucket that is gone is
    not one without the object."""
    said = error.response.text if error.response is not None else str(error)
    if "No such object" not in said:
        raise error
