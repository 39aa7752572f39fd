"""What is remembered of builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meshctl.errors import MeshctlError
from meshctl.outside.objects import DirStore
from meshctl.state.builds import Built, builds_of, last_number, latest, record, reserve


def built(number: int = 1, **more: Any) -> Built:
    given = {"image": "mesh", "repository": "host/mesh", "tag": f"v{number}", "number": number,
             "state": "reserved", "project": "p", "region": "r", "at": "2026-11-30T20:45:12.0Z",
             "context_digest": "c", "recipe_digest": "d"}  # fmt: skip
    return Built(**given | more)


@pytest.fixture
def store(tmp_path: Path) -> DirStore:
    return DirStore(tmp_path)


def test_a_number_belongs_to_one_build(store: DirStore) -> None:
    assert reserve(store, built())

    assert not reserve(store, built())


def test_the_newest_build_that_was_done_counts(store: DirStore) -> None:
    for number, state in ((1, "done"), (2, "done"), (3, "failed"), (4, "reserved")):
        reserve(store, built(number))
        record(store, built(number, state=state))

    found = latest(store, "mesh", "host/mesh").done

    assert found is not None and found.number == 2
    assert [b.number for b in builds_of(store, "mesh")] == [4, 3, 2, 1]


def test_an_image_without_builds_has_none(store: DirStore) -> None:
    assert latest(store, "mesh", "host/mesh").done is None
    assert last_number(store, "mesh") == 0


def test_images_do_not_share_numbers(store: DirStore) -> None:
    reserve(store, built(7, image="mesh-two"))

    assert last_number(store, "mesh") == 0
    assert last_number(store, "mesh-two") == 7


def test_what_was_settled_is_never_written_again(store: DirStore) -> None:
    reserve(store, built())
    record(store, built(state="done"))

    with pytest.raises(MeshctlError, match="no longer reserved"):
        record(store, built(state="failed"))


def test_what_was_never_reserved_is_not_recorded(store: DirStore) -> None:
    with pytest.raises(MeshctlError, match="no longer reserved"):
        record(store, built(state="done"))


def test_reuse_is_no_part_of_the_record(store: DirStore) -> None:
    reserve(store, built())
    record(store, built(state="done", reused=True))

    found = latest(store, "mesh", "host/mesh").done

    assert found is not None and not found.reused


def test_a_record_changed_from_outside_is_named(store: DirStore) -> None:
    store.create("builds/mesh/000001.json", b"{}")

    with pytest.raises(MeshctlError) as failed:
        latest(store, "mesh", "host/mesh")

    assert failed.value.place == "builds/mesh/000001.json"


def test_a_later_build_that_was_started_is_the_one_that_is_begun(store: DirStore) -> None:
    """Without an id it never was; what was done after it makes it a thing of the past."""
    reserve(store, built(1, build="a"))
    reserve(store, built(2, state="done", build="b"))
    before = latest(store, "mesh", "host/mesh")
    reserve(store, built(3, build="c"))
    reserve(store, built(4, state="failed", build="d"))
    reserve(store, built(5))

    after = latest(store, "mesh", "host/mesh")

    assert before.done and (before.done.number, before.begun) == (2, None)
    assert after.done and after.begun and (after.done.number, after.begun.number) == (2, 3)


def test_a_build_is_known_by_its_digest(store: DirStore) -> None:
    assert built(digest="sha256:ab").reference == "host/mesh@sha256:ab"


def test_the_builds_of_another_repository_are_not_ours(store: DirStore) -> None:
    reserve(store, built(1))
    record(store, built(1, state="done"))
    reserve(store, built(2, repository="host/theirs"))
    record(store, built(2, state="done", repository="host/theirs"))

    found = latest(store, "mesh", "host/mesh").done

    assert found is not None and found.number == 1
    assert latest(store, "mesh", "host/nobodys").done is None
