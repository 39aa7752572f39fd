"""Hand-made doors for builds: a cloud that remembers, a bucket in memory, a clock that jumps."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import google_crc32c
import pytest

from meshctl.build.request import BuildRequest, Doors
from meshctl.outside.digests import Digests
from meshctl.outside.gcp import Cloud, LostAnswer, NotFound
from meshctl.outside.objects import DirStore
from meshctl.outside.sessions import Sessions
from meshctl.outside.shell import Result
from meshctl.outside.upload import Uploaded
from meshctl.spec.model import Build, Image

CLOUD = Cloud("local", "local1", "http://127.0.0.1:1")
REPOSITORY = "local1-docker.pkg.dev/local/mesh/moonshine"
RECIPE = """
steps: [{id: image, name: gcr.io/cloud-builders/docker, args: [build, -t, $_IMAGE, .]}]
images: [$_IMAGE]
"""


class FakeClock:
    """Time passes only by sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime.datetime:
        start = datetime.datetime(2026, 11, 30, 20, 45, tzinfo=datetime.UTC)
        return start + datetime.timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@dataclass
class FakeBuilds:
    """A Cloud Build whose builds go through `course`, then end with `end` laid over them."""

    cloud: Cloud = CLOUD
    course: list[str] = field(default_factory=lambda: ["QUEUED", "WORKING"])
    end: dict[str, Any] = field(default_factory=lambda: {"status": "SUCCESS"})
    known: list[dict[str, Any]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    lose_answers_of_create: int = 0
    lose_builds: int = 0
    stumbles: int = 0

    def create_build(self, build: dict[str, Any]) -> dict[str, Any]:
        if self.lose_builds:
            self.lose_builds -= 1
            raise LostAnswer("the request never arrived")
        id = f"b{len(self.known) + 1}"
        log = {"logUrl": f"https://logs/{id}", "logsBucket": "gs://logs/deep"}
        self.known.append({**build, **log, "id": id, "status": "QUEUED", "left": [*self.course]})
        if self.lose_answers_of_create:
            self.lose_answers_of_create -= 1
            raise LostAnswer("the answer was lost")
        return self.known[-1]

    def get_build(self, id: str) -> dict[str, Any]:
        if self.stumbles:
            self.stumbles -= 1
            raise LostAnswer("the cloud answered UNAVAILABLE")
        found = next((build for build in self.known if build["id"] == id), None)
        if found is None:
            raise NotFound("NOT_FOUND", "no such build")
        if found["left"]:
            return found | {"status": found["left"].pop(0)}
        pushed = {"name": found["substitutions"]["_IMAGE"], "digest": f"sha256:{id * 32}"}
        return found | {"results": {"images": [pushed]}} | self.end

    def list_builds(self, filter: str = "") -> list[dict[str, Any]]:
        return [*reversed(self.known)]

    def cancel_build(self, id: str) -> None:
        self.cancelled.append(id)


@dataclass
class FakeUploads:
    """A Cloud Storage in memory."""

    cloud: Cloud = CLOUD
    buckets: set[str] = field(default_factory=set)
    objects: dict[tuple[str, str], bytes] = field(default_factory=dict)
    sessions: int = 0
    sent: list[str] = field(default_factory=list)
    over: set[str] = field(default_factory=set)
    cut: int = 0

    def ensure_bucket(self, bucket: str) -> None:
        self.buckets.add(bucket)

    def open_session(self, bucket: str, name: str, size: int) -> str:
        assert bucket in self.buckets
        self.sessions += 1
        return f"{bucket} {name}"

    def send(self, session: str, path: Path, progress: Callable[[int, int], None]) -> Uploaded:
        bucket, name = session.split()
        self.sent.append(session)
        if session in self.over:
            raise NotFound("NOT_FOUND", "the upload session is over")
        if self.cut:
            self.cut -= 1
            raise LostAnswer("the network is gone")
        data = self.objects[bucket, name] = path.read_bytes()
        progress(len(data), len(data))
        return self._described(bucket, name)

    def find(self, bucket: str, name: str) -> Uploaded | None:
        return self._described(bucket, name) if (bucket, name) in self.objects else None

    def read(self, bucket: str, name: str, start: int = 0) -> bytes | None:
        data = self.objects.get((bucket, name))
        return None if data is None else data[start:]

    def _described(self, bucket: str, name: str) -> Uploaded:
        data = self.objects[bucket, name]
        crc = google_crc32c.value(data).to_bytes(4, "big")
        return Uploaded(bucket, name, "7", len(data), base64.b64encode(crc).decode())


class FakeShell:
    """A machine whose git says this."""

    def __init__(self, commit: str = "c0ffee\n", changes: str = "", code: int = 0) -> None:
        self.commit, self.changes, self.code = commit, changes, code

    def run(self, argv: list[str], *, timeout_s: float = 60.0) -> Result:
        return Result(self.code, self.commit if "rev-parse" in argv else self.changes, "")


@pytest.fixture
def doors(tmp_path: Path) -> Doors:
    return Doors(
        DirStore(tmp_path / "state"),
        FakeBuilds(),
        FakeUploads(),
        FakeClock(),
        FakeShell(),
        Sessions(tmp_path / ".meshctl/uploads"),
        Digests(tmp_path / ".meshctl/digests"),
    )


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """The folder of a fleet: a recipe, and a context of two files."""
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "Dockerfile").write_text("FROM scratch\nCOPY app /app\n")
    (tmp_path / "context" / "app").write_text("one")
    return tmp_path


@pytest.fixture
def asked(fleet: Path) -> Callable[..., BuildRequest]:
    """A request for that context; arguments go into the image's `build`."""

    def make(**build: Any) -> BuildRequest:
        spec = Build(**{"config": "recipe.yaml", "context": "context"} | build)
        image = Image(repository=REPOSITORY, tag="mesh-v{n}", build=spec)
        return BuildRequest("mesh", image, fleet, {}, CLOUD)

    return make
