"""Every store keeps the same promises: a folder, the embedded Cloud Storage, a server of S3."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meshctl.cli.embedded import Embedded
from meshctl.errors import MeshctlError, Refused, Unreachable, UsageError
from meshctl.outside.clock import SystemClock
from meshctl.outside.environment import environment
from meshctl.outside.gcp import Calls, LostAnswer, bypass_proxies_on_loopback
from meshctl.outside.http import RealHttp
from meshctl.outside.objects import DirStore, ObjectStore
from meshctl.outside.objects_place import BucketPlace, open_bucket, place_of
from tests.emulator.bench import call
from tests.fakes.buckets import KEYS, careless_server, refusing_server, s3_server
from tests.fakes.fake_clock import FakeClock

pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
Open = Callable[[str], ObjectStore]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded cloud with one bucket."""
    bypass_proxies_on_loopback()
    data = tmp_path_factory.mktemp("cloud")
    embedded = Embedded(data, SystemClock(), RealHttp(), environment())
    url = embedded.start().url
    assert call(url, "POST", "/storage/v1/b?project=local", {"name": "states"})[0] == 200
    yield url
    embedded.stop()


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    bypass_proxies_on_loopback()
    with s3_server("states") as url:
        yield url


def bucket(place: str, calls: Calls | None = None, **environ: str) -> ObjectStore:
    found = place_of(place)
    assert isinstance(found, BucketPlace)
    return open_bucket(found, environ, SystemClock(), calls or Calls())


@pytest.fixture(params=["folder", "gcs", "s3"])
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Open:
    """Opens a store of this test's own, by the name of its place."""
    own = f"{request.node.name}".replace("[", ".").replace("]", "")
    if request.param == "folder":
        return lambda name: DirStore(tmp_path / name)
    if request.param == "gcs":
        url = request.getfixturevalue("cloud")
        return lambda name: bucket(f"gs://states/{own}/{name}", STORAGE_EMULATOR_HOST=url)
    url = request.getfixturevalue("s3")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": url}.items():
        monkeypatch.setenv(name, value)
    return lambda name: bucket(f"s3://states/{own}/{name}")


def test_what_is_created_is_read_and_only_once(open_store: Open) -> None:
    store = open_store("a")

    generation = store.create("runs/r/000001.json", b"one")

    found = store.read("runs/r/000001.json")
    assert found is not None and (found.data, found.generation) == (b"one", generation)
    assert store.create("runs/r/000001.json", b"two") is None
    assert store.create("runs/r/000001.json", b"one") is None, "not even the same again"
    assert store.read("runs/r/000002.json") is None


def test_only_the_current_generation_is_replaced_and_deleted(open_store: Open) -> None:
    store = open_store("a")
    first = store.create("locks/k", b"1") or ""

    second = store.replace("locks/k", b"2", first) or ""

    assert store.replace("locks/k", b"3", first) is None
    assert not store.delete("locks/k", first)
    assert store.delete("locks/k", second)
    assert not store.delete("locks/k", second)
    assert store.replace("locks/k", b"3", second) is None
    assert store.read("locks/k") is None


def test_what_was_deleted_can_be_created_once(open_store: Open) -> None:
    store = open_store("a")
    store.delete("locks/k", store.create("locks/k", b"1") or "")

    generation = store.create("locks/k", b"2")

    assert generation and store.create("locks/k", b"3") is None
    assert store.list("locks/") == ["locks/k"]


def test_keys_are_listed_by_prefix_and_without_what_is_gone(open_store: Open) -> None:
    store, other = open_store("a"), open_store("ab")
    for key in ("runs/b:r/2", "runs/a:r/1", "runs/a:rb/1"):
        store.create(key, b"x")
    store.delete("runs/gone", store.create("runs/gone", b"x") or "")
    other.create("runs/a:r/9", b"x")

    assert store.list("runs/a:r/") == ["runs/a:r/1"]
    assert store.list("runs/") == ["runs/a:r/1", "runs/a:rb/1", "runs/b:r/2"]
    assert store.list("nothing/") == []


def test_of_many_creators_and_replacers_exactly_one_wins(open_store: Open) -> None:
    stores = [open_store("a") for _ in range(6)]
    stores[0].create("warm", b"up")

    created = at_once(lambda n: stores[n].create("locks/k", b"by %d" % n), 6)
    current = stores[0].read("locks/k")
    assert current is not None
    replaced = at_once(lambda n: stores[n].replace("locks/k", b"r %d" % n, current.generation), 6)

    assert sum(one is not None for one in created) == 1
    assert sum(one is not None for one in replaced) == 1


def at_once(act: Callable[[int], str | None], count: int) -> list[str | None]:
    found: list[str | None] = [None] * count
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        found[number] = act(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_more_than_a_page_of_keys_is_listed_whole(cloud: str) -> None:
    calls = Calls()
    store = bucket("gs://states/many", calls, STORAGE_EMULATOR_HOST=cloud)
    for number in range(1005):
        path = f"/upload/storage/v1/b/states/o?uploadType=media&name=many/k/{number:04d}"
        request = urllib.request.Request(cloud + path, data=b"x", method="POST")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()

    assert len(store.list("k/")) == 1005
    assert calls.made == ["state list many/k/", "state list many/k/ page 2"]


LOST = {"do": "drop", "method": "POST", "path": "/upload/", "times": 1}


def test_a_create_whose_answer_is_lost_is_known_to_be_ours(cloud: str) -> None:
    calls = Calls()
    store = bucket("gs://states/lost", calls, STORAGE_EMULATOR_HOST=cloud)
    store.create("warm", b"up")
    call(cloud, "POST", "/emulator/faults", LOST)
    calls.made.clear()

    generation = store.create("k", b"ours")

    found = store.read("k")
    assert found is not None and (found.data, found.generation) == (b"ours", generation)
    assert calls.made[:2] == ["state put lost/k", "state look lost/k"]


def test_a_bucket_is_proved_once_and_the_proof_costs_one_read(cloud: str) -> None:
    first, later, reading = Calls(), Calls(), Calls()
    bucket("gs://states/proof", first, STORAGE_EMULATOR_HOST=cloud).create("a", b"1")

    bucket("gs://states/proof", later, STORAGE_EMULATOR_HOST=cloud).create("b", b"1")
    bucket("gs://states/proof", reading, STORAGE_EMULATOR_HOST=cloud).read("b")

    assert (len(first.made), len(later.made), len(reading.made)) == (10, 2, 1)


def test_an_endpoint_that_ignores_conditions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with careless_server() as url:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": url}.items():
            monkeypatch.setenv(name, value)
        store = bucket("s3://careless/x")

        for _ in range(2):
            with pytest.raises(Refused, match="ignores conditions") as refused:
                store.create("locks/k", b"mine")

    assert url in refused.value.message
    assert refused.value.place == "s3://careless/x" and "gs://" in refused.value.hint


def test_a_bucket_that_is_missing_is_not_taken_for_empty(
    cloud: str, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": s3}.items():
        monkeypatch.setenv(name, value)

    for place in ("gs://nobodys/x", "s3://nobodys/x"):
        store = bucket(place, STORAGE_EMULATOR_HOST=cloud)
        for ask in (store.read, store.list, lambda key, s=store: s.create(key, b"1")):
            with pytest.raises(UsageError, match="no such bucket") as missing:
                ask("locks/k")
            assert "nobodys" in missing.value.hint


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "hint"),
    [
        (403, "InvalidAccessKeyId", 8, "AWS_ACCESS_KEY_ID"),
        (403, "SignatureDoesNotMatch", 8, "AWS_ACCESS_KEY_ID"),
        (403, "AccessDenied", 8, "s3:ListBucket"),
        (400, "AuthorizationHeaderMalformed", 64, "AWS_REGION"),
        (501, "NotImplemented", 8, "gs://"),
        (503, "SlowDown", 6, "network"),
    ],
)
def test_every_refusal_says_what_to_do(
    status: int, code: str, exit_code: int, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusing_server(status, code) as url:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": url}.items():
            monkeypatch.setenv(name, value)
        place = BucketPlace("s3", "states", "x/")

        with pytest.raises(MeshctlError) as refused:
            open_bucket(place, {}, FakeClock(), Calls()).read("locks/k")

    assert (refused.value.exit_code, code in refused.value.message) == (exit_code, True)
    assert hint in refused.value.hint and "test" not in refused.value.message


def test_an_endpoint_that_is_not_there_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    calls = Calls()

    with pytest.raises(LostAnswer, match="no answer"):
        open_bucket(BucketPlace("s3", "states", ""), {}, FakeClock(), calls).read("locks/k")

    assert len(calls.made) > 2, "a silent endpoint is asked again"


def test_r2_is_asked_at_its_own_endpoint_with_its_own_keys(s3: str) -> None:
    keys = {"R2_ACCESS_KEY_ID": "r2", "R2_SECRET_ACCESS_KEY": "r2"}
    store = bucket("r2://states/r2", MESHCTL_R2_ENDPOINT=s3, **keys)

    store.create("k", b"1")

    assert "k" in store.list("")
    with pytest.raises(UsageError, match="which account"):
        bucket("r2://states/r2")


def test_without_credentials_nothing_is_asked(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3)
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(Unreachable, match="credentials") as missing:
        bucket("s3://states/x").list("")

    assert "AWS_ACCESS_KEY_ID" in missing.value.hint
