"""What became of a recipe and a context since a build, and how little is read to know it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from meshctl.build.context import MOST_NAMES
from meshctl.build.request import BuildRequest, Doors
from meshctl.build.run import build
from meshctl.build.source import MOST_BYTES, source_seen
from meshctl.plan.source import SourceSeen
from meshctl.state.builds import Built

Asked = Callable[..., BuildRequest]


@pytest.fixture
def built(asked: Asked, doors: Doors) -> Built:
    return build(asked(), doors)


def looked(asked: Asked, doors: Doors, built: Built | None, **spec: object) -> SourceSeen:
    return source_seen(asked(**spec), doors.digests, built, None)


def large(fleet: Path, letter: str) -> Path:
    """A file that is not read by the way, and costs no disk."""
    file = fleet / "context" / "weights"
    with file.open("wb") as made:
        made.truncate(MOST_BYTES)
        made.write(letter.encode())
    return file


def test_nothing_changed_after_a_build(asked: Asked, doors: Doors, built: Built) -> None:
    assert looked(asked, doors, built) == SourceSeen()


def test_a_changed_file_an_include_and_a_changed_recipe_are_seen(
    asked: Asked, doors: Doors, built: Built, fleet: Path
) -> None:
    included = looked(asked, doors, built, include={"own": "package:meshctl/mesh"})
    timed = looked(asked, doors, built, timeout="77s")
    (fleet / "context" / "app").write_text("two")
    changed = looked(asked, doors, built)

    assert included.changed == ("context",)
    assert timed.changed == ("recipe",)
    assert changed.changed == ("context",)


def test_a_file_that_was_only_touched_is_read_again_and_is_the_same(
    asked: Asked, doors: Doors, built: Built, fleet: Path
) -> None:
    os.utime(fleet / "context" / "app", (1, 1))

    assert looked(asked, doors, built) == SourceSeen()


def test_large_files_are_not_read_again_while_they_are_as_they_were(
    asked: Asked, doors: Doors, fleet: Path
) -> None:
    file = large(fleet, "a")
    built = build(asked(), doors)
    same = looked(asked, doors, built)
    (fleet / "context" / "app").write_text("two")
    small_changed = looked(asked, doors, built)
    os.utime(file, (1, 1))
    touched = looked(asked, doors, built)

    assert same == SourceSeen()
    assert small_changed.changed == ("context",)
    assert touched.changed == ()
    assert (
        "in 2 files are not what the last build on this machine read"
        in (touched.unknown["context"])
    )


def test_without_the_memory_of_this_machine_a_large_context_is_unknown(
    asked: Asked, doors: Doors, fleet: Path
) -> None:
    large(fleet, "a")
    built = build(asked(), doors)
    for file in doors.digests.folder.iterdir():
        file.unlink()

    seen = looked(asked, doors, built)

    assert (seen.changed, list(seen.unknown)) == ((), ["context"])


def test_a_folder_of_very_many_names_is_not_looked_through(
    asked: Asked, doors: Doors, built: Built, fleet: Path
) -> None:
    for number in range(MOST_NAMES):
        (fleet / "context" / f"{number}").touch()

    seen = looked(asked, doors, built)

    assert seen.unknown == {"context": "there are more than 5,000 names in it"}


def test_what_cannot_be_read_is_unknown_and_the_rest_is_known_all_the_same(
    asked: Asked, doors: Doors, built: Built, fleet: Path
) -> None:
    (fleet / "recipe.yaml").write_text("steps: [")
    (fleet / "context" / "app").write_text("two")

    seen = looked(asked, doors, built)

    assert (seen.changed, list(seen.unknown)) == (("context",), ["recipe"])


def test_without_a_build_there_is_nothing_to_compare(asked: Asked, doors: Doors) -> None:
    assert looked(asked, doors, None) == SourceSeen()
