"""Builds through the real Google clients, against the embedded cloud."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import requests

from meshctl.build.request import BuildRequest, Doors
from meshctl.build.run import build
from meshctl.errors import CheckFailed, Refused
from meshctl.outside.clock import SystemClock
from meshctl.outside.cloudbuild import RestCloudBuild
from meshctl.outside.digests import Digests
from meshctl.outside.gcp import Calls, Cloud, NotFound
from meshctl.outside.objects import DirStore
from meshctl.outside.sessions import Sessions
from meshctl.outside.shell import LocalShell
from meshctl.outside.storage import RestStorage, staging_bucket
from meshctl.spec.model import Build, Image
from meshctl.state.builds import Built

RECIPE = """
steps:
  - {id: image, name: gcr.io/cloud-builders/docker, args: [build, -t, $_IMAGE, -f, $_FILE, .]}
images: [$_IMAGE]
substitutions: {_FILE: Dockerfile}
"""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An embedded cloud of these tests' own."""
    data = tmp_path_factory.mktemp("cloud")
    command = [sys.executable, "-m", "meshctl.emulator", "--data", str(data)]
    with (data / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    end = time.monotonic() + 20
    while not (data / "endpoint.json").exists() and process.poll() is None:
        assert time.monotonic() < end, (data / "log").read_text()
        time.sleep(0.05)
    assert process.poll() is None, (data / "log").read_text()
    yield str(json.loads((data / "endpoint.json").read_text())["url"])
    process.terminate()
    process.wait(timeout=15)


@dataclass
class Bench:
    """One project of the embedded cloud, a fleet's folder, and the doors between them."""

    cloud: Cloud
    folder: Path
    calls: Calls
    doors: Doors

    def request(self, image: str = "mesh", **more: Any) -> BuildRequest:
        spec = Build(**{"config": "recipe.yaml", "context": "context"} | more)
        repository = f"local1-docker.pkg.dev/{self.cloud.project}/mesh/{image}"
        made = Image(repository=repository, tag="mesh-v{n}", build=spec)
        return BuildRequest(image, made, self.folder, {}, self.cloud)

    def build(self, image: str = "mesh", **more: Any) -> Built:
        return build(self.request(image, **more), self.doors)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / "context" / name).write_text(text)

    def fault(self, **order: Any) -> None:
        """Order trouble up from the embedded cloud."""
        with requests.Session() as http:
            http.trust_env = False
            answer = http.post(f"{self.cloud.endpoint}/emulator/faults", json=order, timeout=10)
        assert answer.status_code == 200, answer.text


def doors_to(cloud: Cloud, folder: Path, calls: Calls) -> Doors:
    clock = SystemClock()
    return Doors(
        DirStore(folder / "state"),
        RestCloudBuild(cloud, calls),
        RestStorage(cloud, calls, clock),
        clock,
        LocalShell(),
        Sessions(folder / "uploads"),
        Digests(folder / "digests"),
    )


@pytest.fixture
def bench(
    endpoint: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Bench:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    cloud = Cloud(f"p{zlib.crc32(request.node.name.encode())}", "local1", endpoint)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "context").mkdir()
    calls = Calls()
    made = Bench(cloud, tmp_path, calls, doors_to(cloud, tmp_path, calls))
    made.write(Dockerfile='FROM scratch\nCOPY app /app\nENTRYPOINT ["/app"]\n', app="one")
    return made


def test_a_small_context_becomes_an_image_with_a_digest(bench: Bench) -> None:
    built = bench.build()

    assert built.tag == "mesh-v1"
    assert built.digest.startswith("sha256:") and len(built.digest) == 71
    assert bench.doors.builds.get_build(built.build)["status"] == "SUCCESS"


def test_the_same_context_again_is_reused_and_nothing_is_sent(bench: Bench) -> None:
    first = bench.build()
    bench.calls.made.clear()

    second = bench.build()

    assert second == first.model_copy(update={"reused": True})
    assert bench.calls.made == [f"cloudbuild builds.get {first.build}"]


def test_a_changed_file_makes_another_image(bench: Bench) -> None:
    first = bench.build()
    bench.write(app="two")

    second = bench.build()

    assert (second.tag, second.reused) == ("mesh-v2", False)
    assert second.digest != first.digest


def test_numbers_go_on_where_the_clouds_list_of_builds_ends(bench: Bench) -> None:
    bench.build()
    bench.write(app="two")
    elsewhere = replace(bench.doors, store=DirStore(bench.folder / "another-state"))

    built = build(bench.request(), elsewhere)

    assert built.tag == "mesh-v2"


def test_a_failing_step_is_named_and_its_log_quoted(bench: Bench) -> None:
    bench.write(Dockerfile="FROM scratch\nCOPY missing /x\n")

    with pytest.raises(CheckFailed) as failed:
        bench.build()

    assert "in step image" in failed.value.message
    assert "missing" in failed.value.message.partition("\n")[2]
    assert failed.value.hint.startswith("see")


def test_an_unknown_builder_fails_like_an_image_that_cannot_be_pulled(bench: Bench) -> None:
    recipe = RECIPE.replace("gcr.io/cloud-builders/docker", "gcr.io/nobody/knows-it")
    (bench.folder / "recipe.yaml").write_text(recipe)

    with pytest.raises(CheckFailed, match="FAILURE") as failed:
        bench.build()

    assert "nobody/knows-it" in failed.value.message


def test_two_builds_racing_for_a_number_get_different_ones(bench: Bench) -> None:
    shutil.copytree(bench.folder / "context", bench.folder / "other")
    (bench.folder / "other" / "app").write_text("two")
    built: list[Built] = []
    together = threading.Barrier(2)

    def one(context: str) -> None:
        doors = doors_to(bench.cloud, bench.folder, Calls())
        together.wait()
        built.append(build(bench.request(context=context), doors))

    threads = [threading.Thread(target=one, args=(name,)) for name in ("context", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {b.tag for b in built} == {"mesh-v1", "mesh-v2"}
    assert len({b.digest for b in built}) == 2


@pytest.mark.parametrize("trouble", [{"do": "status"}, {"do": "drop"}])
def test_an_upload_of_several_chunks_survives_trouble(
    bench: Bench, trouble: dict[str, Any]
) -> None:
    (bench.folder / "context" / "weights").write_bytes(random.Random(1).randbytes(20 * 2**20))
    bench.fault(method="PUT", path="/upload/", after=1, times=2, **trouble)

    built = bench.build()

    puts = [call for call in bench.calls.made if call.startswith("storage put")]
    assert built.state == "done"
    assert len(puts) > 4  # the query, three chunks, and what the trouble cost


def test_a_lost_answer_does_not_start_the_build_twice(bench: Bench) -> None:
    bench.fault(do="drop", method="POST", path="/builds")

    built = bench.build()

    assert built.state == "done"
    assert len(bench.doors.builds.list_builds()) == 1


def test_a_build_the_cloud_does_not_know_is_not_found(bench: Bench) -> None:
    with pytest.raises(NotFound):
        bench.doors.builds.get_build("00000000-0000-0000-0000-000000000000")


def test_nothing_is_uploaded_to_a_bucket_of_another_project(bench: Bench) -> None:
    bucket = staging_bucket(bench.cloud.project)
    stranger = replace(bench.cloud, project="stranger")
    RestStorage(stranger, Calls(), SystemClock()).ensure_bucket(bucket)

    with pytest.raises(Refused, match="belongs to another project"):
        bench.build()


def test_an_object_that_is_there_is_not_written_over(bench: Bench, tmp_path: Path) -> None:
    bucket, uploads = staging_bucket(bench.cloud.project), bench.doors.uploads
    (tmp_path / "file").write_text("one")
    uploads.ensure_bucket(bucket)
    first, second = (uploads.open_session(bucket, "source/a.tgz", 3) for _ in range(2))
    uploads.send(first, tmp_path / "file", lambda has, of: None)

    with pytest.raises(Refused):
        uploads.send(second, tmp_path / "file", lambda has, of: None)
    with pytest.raises(Refused):
        uploads.open_session(bucket, "source/a.tgz", 3)


def test_a_log_that_is_not_there_is_none(bench: Bench) -> None:
    bench.doors.uploads.ensure_bucket(staging_bucket(bench.cloud.project))

    assert bench.doors.uploads.read(staging_bucket(bench.cloud.project), "log-x.txt") is None
