"""Every door gives the same bytes of the same file: disk, web, Cloud Storage, S3, R2."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from meshctl.cli.embedded import Embedded
from meshctl.errors import Refused, Unreachable
from meshctl.outside.clock import SystemClock
from meshctl.outside.environment import environment
from meshctl.outside.gcp import Calls, bypass_proxies_on_loopback
from meshctl.outside.http import RealHttp
from meshctl.outside.objects_s3 import s3_client
from meshctl.outside.ranges import Changed, Folder, Missing
from meshctl.outside.ranges_open import Doors
from meshctl.outside.retries import Patience
from meshctl.payloads.fetch import fetch
from meshctl.payloads.locate import locate
from meshctl.payloads.manifest import read_manifest
from meshctl.payloads.wanted import Hands, Wanted
from tests.emulator.bench import DIRECT, call
from tests.fakes.buckets import KEYS, s3_server
from tests.fakes.range_server import RangeServer

pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
DATA = bytes(range(256)) * 40
Open = Callable[[], tuple[Folder, str]]


def doors(environ: Mapping[str, str], base: Path = Path()) -> Doors:
    return Doors(RealHttp(), environ, SystemClock(), Calls(), base)


def located(text: str, **environ: str) -> tuple[Folder, str]:
    found = locate(text, doors(environ))
    return found.folder, found.name


@pytest.fixture(scope="module")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded cloud with one object."""
    bypass_proxies_on_loopback()
    embedded = Embedded(tmp_path_factory.mktemp("cloud"), SystemClock(), RealHttp(), environment())
    url = embedded.start().url
    assert call(url, "POST", "/storage/v1/b?project=local", {"name": "models"})[0] == 200
    put = f"{url}/upload/storage/v1/b/models/o?uploadType=media&name=m/x.bin"
    with DIRECT.open(urllib.request.Request(put, data=DATA, method="POST")) as answer:
        assert answer.status == 200
    yield url
    embedded.stop()


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    bypass_proxies_on_loopback()
    with s3_server("models") as url:
        client = s3_client(url, "us-east-1", ("test", "test"))
        client.put_object(Bucket="models", Key="m/x.bin", Body=DATA)
        yield url


@pytest.fixture(params=["disk", "web", "gs", "s3", "r2"])
def folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Folder]:
    """The folder that holds x.bin, through one of the doors."""
    if request.param == "disk":
        (tmp_path / "x.bin").write_bytes(DATA)
        yield located(f"{tmp_path}/x.bin")[0]
    elif request.param == "web":
        with RangeServer({"/m/x.bin": DATA}) as server:
            yield located(f"{server.url}/m/x.bin")[0]
    elif request.param == "gs":
        url = request.getfixturevalue("gcs")
        yield located("gs://models/m/x.bin", STORAGE_EMULATOR_HOST=url)[0]
    else:
        url = request.getfixturevalue("s3")
        for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": url}.items():
            monkeypatch.setenv(name, value)
        where = {"MESHCTL_R2_ENDPOINT": url, "R2_ACCESS_KEY_ID": "a", "R2_SECRET_ACCESS_KEY": "b"}
        yield located(f"{request.param}://models/m/x.bin", **where)[0]


def test_pieces_are_those_of_the_file_and_the_size_is_known_after_the_first(
    folder: Folder,
) -> None:
    file = folder.open("x.bin")

    assert file.read(0, 100) == DATA[:100]
    assert file.size == len(DATA)
    assert file.read(5000, 5010) == DATA[5000:5010]
    assert file.read(len(DATA) - 5, len(DATA) + 100) == DATA[-5:]


def test_a_file_is_fetched_through_every_door_of_the_state_it_was_in(
    folder: Folder, tmp_path: Path
) -> None:
    clock, to = SystemClock(), tmp_path / "fetched/x.bin"
    wanted = Wanted(folder, "x.bin", to, len(DATA), hashlib.sha256(DATA).hexdigest())

    found = fetch(wanted, Hands(clock, Patience(clock)))

    assert (found.proved_by, to.read_bytes()) == ("the declared sha256", DATA)
    assert read_manifest(to) is not None
    file = folder.open("x.bin")
    file.read(0, 1)
    assert file.version, "it can be told from any later state"


def test_behind_the_end_there_is_nothing(folder: Folder) -> None:
    file = folder.open("x.bin")

    assert file.read(0, 10) == DATA[:10]
    assert file.read(len(DATA), len(DATA) + 10) == b""
    assert file.read(10, 10) == b""


def test_a_file_that_is_not_there_is_missing(folder: Folder) -> None:
    with pytest.raises(Missing) as missing:
        folder.open("y.bin").read(0, 10)

    assert missing.value.hint and "y.bin" in missing.value.place


def test_what_people_call_it_names_it_again(folder: Folder) -> None:
    assert folder.shown.endswith("/")


def test_an_object_that_is_written_anew_between_two_reads_is_noticed(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": s3}.items():
        monkeypatch.setenv(name, value)
    client = s3_client(s3, "us-east-1", ("test", "test"))
    client.put_object(Bucket="models", Key="m/z.bin", Body=DATA)
    file = located("s3://models/m/z.bin")[0].open("z.bin")
    file.read(0, 10)

    client.put_object(Bucket="models", Key="m/z.bin", Body=DATA[::-1])

    with pytest.raises(Changed):
        file.read(10, 20)


def test_a_file_that_is_written_between_two_reads_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(DATA)
    file = located(str(path))[0].open("x.bin")
    file.read(0, 10)

    path.write_bytes(DATA + b"more")

    with pytest.raises(Changed):
        file.read(10, 20)


@pytest.mark.parametrize("size", [10, 9_000_000])
def test_no_more_is_taken_than_was_asked_for_from_a_server_that_sends_too_much(size: int) -> None:
    with RangeServer({"/x.bin": bytes(size)}, vice="no-ranges") as server:
        file = located(f"{server.url}/x.bin")[0].open("x.bin")

        with pytest.raises(Refused, match="no ranges"):
            file.read(0, 5)


def test_a_location_that_leads_nowhere_good_is_not_followed() -> None:
    with RangeServer({}, redirect="file:///etc") as server:
        file = located(f"{server.url}/passwd")[0].open("passwd")

        with pytest.raises(Refused, match="nobody should go"):
            file.read(0, 5)


def test_a_server_that_redirects_for_ever_is_left() -> None:
    with RangeServer({}) as server:
        server.redirect = server.url
        file = located(f"{server.url}/x")[0].open("x")

        with pytest.raises(Refused, match="redirections"):
            file.read(0, 5)

    assert len(server.asked) == 5


def test_a_signature_in_a_url_is_sent_and_never_shown() -> None:
    with RangeServer({"/x.bin": DATA}) as server:
        folder, name = located(f"{server.url}/x.bin?signature=canary")
        assert folder.open(name).read(0, 10) == DATA[:10]
    assert server.asked[0][0] == "/x.bin?signature=canary"
    assert "canary" not in folder.shown + name

    with pytest.raises(Unreachable) as gone:
        folder.open(name).read(0, 10)
    told = f"{gone.value.message} {gone.value.place} {gone.value.hint}"
    assert "canary" not in told and gone.value.__cause__ is None


def test_several_files_of_a_bucket_are_read_at_once(s3: str) -> None:
    environ = {"MESHCTL_R2_ENDPOINT": s3, "R2_ACCESS_KEY_ID": "a", "R2_SECRET_ACCESS_KEY": "b"}
    folder, name = located("r2://models/m/x.bin", **environ)
    got: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: got.append(folder.open(name).read(0, 9))) for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert got == [DATA[:9]] * 8


FLEET = """
meshctl: 1
fleet: tiny
targets:
  local: {{kind: cloudrun, project: local, region: local1, emulator: "{url}"}}
images:
  small: {{ref: "example.org/small@sha256:{sha}"}}
payloads:
  x:
    source: gs://models/m
    format: opaque
    files: {{x.bin: {{bytes: {bytes}, sha256: "{sha}"}}}}
services:
  chat: {{target: local, image: small, deliver: mount, models: {{x: {{payload: x}}}}}}
"""


def test_a_payload_of_an_embedded_cloud_is_read_from_its_bucket(gcs: str, tmp_path: Path) -> None:
    text = FLEET.format(url=gcs, bytes=len(DATA), sha="2" * 64)
    (tmp_path / "meshctl.yaml").write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "meshctl", "-o", "json", "payload", "inspect", "x"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"] == "gs://models/m/x.bin"
    assert json.loads(done.stdout)["bytes"] == len(DATA)
