"""The Cloud Storage door for builds: the bucket of sources, resumable uploads, and log objects.

The library opens an upload's session and would keep it in private attributes; the chunks are put
from here (outside/upload.py), so that a session is nothing but its URL.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from meshctl.errors import Refused
from meshctl.outside.clock import Clock
from meshctl.outside.gcp import (
    AlreadyExists,
    ApiError,
    Calls,
    Cloud,
    Conflict,
    LostAnswer,
    credentials,
    translated,
)
from meshctl.outside.http import is_loopback
from meshctl.outside.upload import Answer, Progress, Uploaded, upload

CALL_TIMEOUT_S = 30.0
CHUNK_TIMEOUT_S = 120.0
REPEAT_WAITS_S = (0.5, 1.0, 2.0, 4.0)

_T = TypeVar("_T")


class StorageApi(Protocol):
    """What build/ asks of Cloud Storage."""

    cloud: Cloud

    def ensure_bucket(self, bucket: str) -> None: ...
    def open_session(self, bucket: str, name: str, size: int) -> str: ...
    def send(self, session: str, path: Path, progress: Progress) -> Uploaded: ...
    def find(self, bucket: str, name: str) -> Uploaded | None: ...
    def read(self, bucket: str, name: str, start: int = 0) -> bytes | None: ...


class RestStorage:
    """The real google-cloud-storage client, and plain requests for the chunks."""

    def __init__(self, cloud: Cloud, calls: Calls, clock: Clock) -> None:
        self.cloud, self.calls, self.clock = cloud, calls, clock
        self._made: Any = None

    def ensure_bucket(self, bucket: str) -> None:
        """Create the bucket when the project has none; Refused when the name is another's.

        The project's list is asked, not the bucket: names are global, and a stranger who took
        this one first would otherwise be handed the source.
        """
        if self._again(lambda: self._owns(bucket)):
            return
        try:
            with self._call("buckets.insert", bucket):
                self._client().create_bucket(bucket, **_ONCE)
        except (AlreadyExists, Conflict, LostAnswer) as error:
            if self._again(lambda: self._owns(bucket)):
                return  # our own lost answer, or a build beside us was quicker
            if isinstance(error, LostAnswer):
                raise
            raise _of_another_project(bucket) from error

    def _owns(self, bucket: str) -> bool:
        with self._call("buckets.list", bucket):
            own = self._client().list_buckets(prefix=bucket, **_ONCE)
            return bucket in {found.name for found in own}

    def open_session(self, bucket: str, name: str, size: int) -> str:
        """URL of a resumable upload of a new object; a name that is taken is refused."""
        return self._again(lambda: self._open(bucket, name, size))

    def _open(self, bucket: str, name: str, size: int) -> str:
        with self._call("objects.insert", f"{bucket}/{name}"):
            blob = self._client().bucket(bucket).blob(name)
            url = blob.create_resumable_upload_session(
                content_type="application/gzip",
                size=size,
                if_generation_match=0,
                checksum=None,
                **_ONCE,
            )
            return str(url)

    def send(self, session: str, path: Path, progress: Progress) -> Uploaded:
        """Put what the session does not have yet, and prove size and crc32c of the object.

        Raises LostAnswer when the cloud takes nothing for about a minute, NotFound when the
        session is over, CheckFailed when the cloud holds other bytes than the file.
        """
        import requests

        with requests.Session() as http:
            http.trust_env = not is_loopback(session)

            def put(data: bytes, content_range: str) -> Answer:
                self.calls.add(f"storage put {content_range}")
                with translated(self.cloud, f"projects/{self.cloud.project}"):
                    found = http.put(
                        session,
                        data=data,
                        headers={"Content-Range": content_range},
                        timeout=CHUNK_TIMEOUT_S,
                        allow_redirects=False,
                    )
                return Answer(found.status_code, found.headers.get("Range", ""), found.content)

            return upload(put, path, self.clock, progress)

    def find(self, bucket: str, name: str) -> Uploaded | None:
        """An object as the cloud describes it; None when there is none."""
        return self._again(lambda: self._find(bucket, name))

    def _find(self, bucket: str, name: str) -> Uploaded | None:
        with self._call("objects.get", f"{bucket}/{name}"):
            blob = self._client().bucket(bucket).get_blob(name, **_ONCE)
        if blob is None:
            return None
        return Uploaded(bucket, name, str(blob.generation), int(blob.size), str(blob.crc32c))

    def part(self, found: Uploaded, start: int, end: int) -> bytes:
        """The bytes from `start` to before `end` of exactly this version of an object."""
        return self._again(lambda: self._part(found, start, end))

    def _part(self, found: Uploaded, start: int, end: int) -> bytes:
        with self._call("objects.get", f"{found.bucket}/{found.name}"):
            blob = (
                self._client()
                .bucket(found.bucket)
                .blob(found.name, generation=int(found.generation))
            )
            data = blob.download_as_bytes(start=start, end=end - 1, checksum=None, **_ONCE)
        if len(data) != end - start:
            raise LostAnswer(f"asked for {end - start} bytes, got {len(data)}")
        return bytes(data)

    def read(self, bucket: str, name: str, start: int = 0) -> bytes | None:
        """An object's bytes from `start` on; None when there are none, or they may not be read."""
        options = {**_ONCE, "checksum": None} if start else _ONCE
        try:
            with self._call("objects.get", f"{bucket}/{name}"):
                blob = self._client().bucket(bucket).blob(name)
                return bytes(blob.download_as_bytes(start=start or None, **options))
        except ApiError:
            return None

    def _again(self, call: Callable[[], _T]) -> _T:
        """Repeat a call that is safe to repeat, a few times, when its answer is lost."""
        for wait_s in REPEAT_WAITS_S:
            try:
                return call()
            except LostAnswer:
                self.clock.sleep(wait_s)
        return call()

    def _call(self, call: str, name: str) -> Any:
        self.calls.add(f"storage {call} {name}")
        return translated(self.cloud, f"gs://{name}")

    def _client(self) -> Any:
        if self._made is None:
            from google.cloud.storage import Client

            options = {"api_endpoint": self.cloud.endpoint} if self.cloud.endpoint else None
            self._made = Client(
                project=self.cloud.project,
                credentials=credentials(self.cloud),
                client_options=options,
            )
        return self._made


_ONCE: dict[str, Any] = {"retry": None, "timeout": CALL_TIMEOUT_S}


def _of_another_project(bucket: str) -> Refused:
    return Refused(
        f"the bucket {bucket} belongs to another project",
        place=f"gs://{bucket}",
        hint="ask who owns it; meshctl uploads nothing to it",
    )


def staging_bucket(project: str) -> str:
    """`PROJECT_cloudbuild`, spelled as gcloud does (staging_bucket_util.py of gcloud 528)."""
    safe = project.replace(":", "_").replace(".", "_").replace("google", "elgoog")
    return f"{safe}_cloudbuild"
