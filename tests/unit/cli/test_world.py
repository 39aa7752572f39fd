"""What a command works with: the fleet, the state folder, the cloud of a target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from meshctl.cli.settings import Settings
from meshctl.cli.world import World, open_world
from meshctl.errors import Refused, SpecError, UsageError
from meshctl.outside.objects import DirStore
from meshctl.outside.objects_drill import DrillStore

FLEET = """\
meshctl: 1
fleet: small
targets:
  here: {kind: cloudrun, project: local, region: local1, emulator: "http://127.0.0.1:9"}
  real: {kind: cloudrun, project: my-project, region: us-central1}
  attic: {kind: podman, address: ops@attic}
"""


def world(folder: Path, text: str | None = FLEET, **settings: str) -> World:
    file = folder / "meshctl.yaml"
    if text is not None:
        file.write_text(text)
    return open_world(Settings(**{"fleet": str(file), **settings}))  # type: ignore[arg-type]


def root(store: object) -> Path:
    assert isinstance(store, DirStore)
    return store.root


def test_the_fleet_is_read_from_the_file_that_was_named(tmp_path: Path) -> None:
    fleet = world(tmp_path).fleet()

    assert fleet.fleet == "small"
    assert fleet.file == str(tmp_path / "meshctl.yaml")


def test_without_a_file_the_error_says_where_to_look_and_what_to_begin_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError) as missing:
        open_world(Settings()).fleet()

    assert missing.value.place == "meshctl.yaml"
    start = re.search(r"-f (\S+local\.yaml) runs", missing.value.hint)
    assert "`cd` there" in missing.value.hint and "-f FILE" in missing.value.hint
    assert start and Path(start[1]).is_file()


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meshctl.yaml").write_bytes(b"fleet: \xff\xfe")

    with pytest.raises(UsageError, match="not UTF-8"):
        world(tmp_path, None).fleet()
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        world(tmp_path, None, fleet=str(tmp_path)).fleet()


def test_the_state_lies_beside_the_fleet_file_unless_told_otherwise(tmp_path: Path) -> None:
    by_default = world(tmp_path).store()
    declared = world(tmp_path, FLEET + "state: ../states\n").store()
    asked = world(tmp_path, FLEET + "state: ../states\n", state="mine").store()

    assert root(by_default) == tmp_path / ".meshctl" / "state"
    assert root(declared) == tmp_path / ".." / "states"
    assert root(asked) == Path("mine")


@pytest.mark.parametrize("place", ["gs://bucket/x", "s3://bucket", "r2://bucket/a/b"])
def test_a_bucket_holds_the_state_and_nothing_is_asked_before_it_is_used(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("R2_ACCOUNT_ID", "account")
    made = world(tmp_path, FLEET + f"state: {place}\n")

    assert str(made.state_place()) == place
    assert made.store() is made.store(broken_file_ok=True)
    assert (made.state_folder(), made.calls.made) == (None, [])


@pytest.mark.parametrize("place", ["ftp://b/x", "gs://", "gs://B/x", "s3://b//x", "gs://bu/../x"])
def test_a_place_that_is_neither_folder_nor_bucket_is_refused(place: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        world(tmp_path, state=place).store()

    assert refused.value.place == place and "bucket" in refused.value.hint.lower()


def test_a_state_of_an_earlier_meshctl_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / ".meshctl/state/runs/chat.here.20261130T204512345678.s").mkdir(parents=True)

    with pytest.raises(Refused, match="earlier meshctl") as refused:
        world(tmp_path).store()

    assert "`meshctl state migrate`" in refused.value.hint


def test_a_broken_file_gives_away_its_state_only_to_those_that_may_do_without(
    tmp_path: Path,
) -> None:
    broken = world(tmp_path, FLEET + 'state: "elsewhere"  # mine\nservices: 3\n')

    found = broken.store(broken_file_ok=True)

    assert root(found) == tmp_path / "elsewhere"
    with pytest.raises(SpecError):
        broken.store()


def test_a_drill_wraps_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESHCTL_DRILL", "before:3")

    store = world(tmp_path).store()

    assert isinstance(store, DrillStore)


def test_the_cloud_of_a_target_is_the_url_it_names_or_the_real_one(tmp_path: Path) -> None:
    here, real = world(tmp_path).cloud("here"), world(tmp_path).cloud("real")

    assert (here.project, here.endpoint) == ("local", "http://127.0.0.1:9")
    assert (real.parent, real.endpoint) == ("projects/my-project/locations/us-central1", None)


def test_a_target_that_is_not_there_is_answered_with_near_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no target named 'her'") as unknown:
        world(tmp_path).cloud("her")
    with pytest.raises(UsageError, match="no Cloud Run target"):
        world(tmp_path).cloud("attic")

    assert 'did you mean "here"?' in unknown.value.hint


def test_a_named_file_that_is_missing_makes_no_folder_elsewhere(tmp_path: Path) -> None:
    missing = world(tmp_path, None, fleet=str(tmp_path / "gone" / "x.yaml"))

    with pytest.raises(UsageError, match="there is no fleet file"):
        print(missing.folder)

    assert list(tmp_path.iterdir()) == []
