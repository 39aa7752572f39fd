"""The trash: killed anywhere it goes on, it overwrites nothing, and trusts no manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meshctl.errors import Refused, UsageError
from meshctl.outside.disk import walk
from meshctl.payloads.held import Held, held_in, named
from meshctl.payloads.manifest import Manifest, manifest_path
from meshctl.payloads.purge import purge, sweep
from meshctl.payloads.retire import Why, already, finish, inside, retire, stays_beside, warning_of
from meshctl.payloads.trash import Place, give_back, retirements, state_of
from tests.fakes.fake_clock import START

FILES = ("q/a.gguf", "q/b c.gguf", "top.gguf")


class Killed(Exception):
    """Stands for kill -9 between two acts."""


def killer(after: int) -> Callable[[str], None]:
    left = [after]

    def tell(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    return tell


def quiet(_: str) -> None:
    """Hears everything."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in (*FILES, "q/live.gguf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    file = tmp_path / "q/a.gguf"
    manifest = Manifest(source="hub:x", version="", bytes=8, sha256="1" * 64, proved_by=None,
                        mtime_ns=file.stat().st_mtime_ns, at="2026-11-30T20:45:00Z")  # fmt: skip
    manifest_path(file).write_text(manifest.text())
    (tmp_path / ".meshctl-trash").mkdir()
    return Place(tmp_path)


def retire_again(place: Place, tell: Callable[[str], None] = quiet) -> None:
    """As the command does, whatever an earlier one left."""
    for path in FILES:
        if (before := already(place, path)) is not None:
            finish(place, before[0].name, before[1], tell)
    walked = walk(place.folder)
    files = [seen for seen in walked.seen if seen.path in FILES]
    if files:
        stays = stays_beside(walked, [seen.path for seen in files])
        retire(place, files, stays, Why("op@here", "", ()), START, tell)


def contents(place: Place) -> dict[str, bytes]:
    """Everything that a manifest knows of, wherever it is now, and what is in its place."""
    found = {}
    for seen in walk(place.folder).seen:
        path = seen.path.partition("/files/")[2] or seen.path
        if path.endswith(".gguf"):
            found[path] = (place.folder / seen.path).read_bytes()
    return found


def test_named_files_move_and_their_sibling_stays_and_the_manifest_says_so(place: Place) -> None:
    retire_again(place)

    (made,) = retirements(place)
    assert [item.path for item in made.items] == list(FILES)
    assert made.items[0].sha256 == "1" * 64 and made.items[1].sha256 is None
    assert made.stays == ("q/live.gguf",) and "q/live.gguf" in made.warning
    assert (place.folder / "q/live.gguf").exists() and not (place.folder / "q/a.gguf").exists()
    assert (place.home(made.name) / "files/q/a.gguf.manifest.json").exists()
    assert made.warning in (place.home(made.name) / "RESTORE.txt").read_text()


def test_a_retirement_killed_anywhere_is_ended_by_the_same_command(place: Place) -> None:
    kills = 0
    while True:
        try:
            retire_again(place, killer(kills))
            break
        except Killed:
            kills += 1
            assert set(contents(place)) == {*FILES, "q/live.gguf"}, "nothing is ever lost"

    assert kills > 5, "it was killed at every act"
    assert not [path for path in FILES if (place.folder / path).exists()]
    assert {one.item.path for one in held_in(place) if one.seen} == set(FILES)


def items(place: Place) -> Iterator[Held]:
    yield from (one for one in held_in(place) if one.seen)


def test_a_file_comes_back_with_its_manifest_and_once_more_is_no_error(place: Place) -> None:
    retire_again(place)
    before = list(items(place))

    for one in (*before, *before):
        give_back(place, one.retirement.name, one.item)

    assert all((place.folder / path).read_bytes() == path.encode() for path in FILES)
    assert manifest_path(place.folder / "q/a.gguf").exists()
    states = [state_of(place, one.retirement.name, one.item) for one in before]
    assert states == ["place"] * 3


def test_a_restore_that_died_between_its_two_names_is_ended(place: Place) -> None:
    retire_again(place)
    one = named(list(items(place)), ["top.gguf"])[0]
    (place.folder / "top.gguf").hardlink_to(place.kept(one.retirement.name, one.item))

    give_back(place, one.retirement.name, one.item)

    assert (place.folder / "top.gguf").stat().st_nlink == 1


def test_nothing_is_overwritten_by_a_restore(place: Place) -> None:
    retire_again(place)
    (place.folder / "top.gguf").write_text("newer")
    one = named(list(items(place)), ["top.gguf"])[0]

    with pytest.raises(Refused, match="is there already"):
        give_back(place, one.retirement.name, one.item)

    assert (place.folder / "top.gguf").read_text() == "newer"
    assert state_of(place, one.retirement.name, one.item) == "trash"


def test_a_restore_follows_no_link_out_of_the_folder(place: Place, tmp_path: Path) -> None:
    retire_again(place)
    one = named(list(items(place)), ["q/a.gguf"])[0]
    (place.folder / "q").rename(place.folder / "moved")
    (place.folder / "q").symlink_to("/")

    with pytest.raises(Refused, match="is a link by now"):
        give_back(place, one.retirement.name, one.item)


def test_a_purge_killed_anywhere_is_ended_by_the_next(place: Place) -> None:
    retire_again(place)
    kills = 0
    while True:
        try:
            purge(place, list(items(place)), killer(kills))
            break
        except Killed:
            kills += 1
            list(retirements(place))

    assert kills >= 3
    assert list(place.trash.iterdir()) == []
    assert (place.folder / "q/live.gguf").exists()


def test_a_retirement_that_died_before_its_manifest_moved_is_ended(place: Place) -> None:
    retire_again(place)
    (made,) = retirements(place)
    kept = place.kept(made.name, made.items[0])
    manifest_path(kept).rename(manifest_path(place.folder / "q/a.gguf"))

    retire_again(place)

    assert manifest_path(kept).exists() and len(list(retirements(place))) == 1


def test_a_new_file_of_a_retired_name_is_another_one(place: Place) -> None:
    retire_again(place)
    (place.folder / "top.gguf").write_text("newer")

    retire_again(place)

    tops = [one for one in items(place) if one.item.path == "top.gguf"]
    assert [place.kept(o.retirement.name, o.item).read_bytes() for o in tops] == [
        b"top.gguf", b"newer",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="several items"):
        named(tops, ["top.gguf"])


def test_a_retirement_that_died_before_its_manifest_was_written_is_swept(place: Place) -> None:
    home = place.home("20261130T204500Z")
    (home / "files").mkdir(parents=True)
    (home / "RESTORE.txt").touch()

    sweep(place, quiet)

    assert not home.exists()


def test_what_was_restored_whole_is_forgotten_by_the_next_purge(place: Place) -> None:
    retire_again(place)
    for one in list(items(place)):
        give_back(place, one.retirement.name, one.item)

    sweep(place, quiet)

    assert list(place.trash.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "a//b", "./a", "a\0b",
                                  ".meshctl-trash/x"])  # fmt: skip
def test_a_manifest_that_leads_out_of_the_folder_is_refused(place: Place, path: str) -> None:
    retire_again(place)
    (made,) = retirements(place)
    file = place.home(made.name) / "manifest.json"
    said = json.loads(file.read_text())
    said["items"][0]["path"] = path
    file.write_text(json.dumps(said))

    with pytest.raises(Refused, match="cannot be read"):
        held_in(place)


@pytest.mark.parametrize("text", [b"", b"[]", b"\xff", b"null", b"[" * 10_000, b'{"kind": 1}'])
def test_a_manifest_that_says_nothing_keeps_the_trash_as_it_is(place: Place, text: bytes) -> None:
    retire_again(place)
    (made,) = retirements(place)
    (place.home(made.name) / "manifest.json").write_bytes(text)

    with pytest.raises(Refused, match="cannot be read"):
        sweep(place, quiet)

    assert place.kept(made.name, made.items[0]).exists()


def test_a_link_in_the_trash_leads_nowhere(place: Place, tmp_path: Path) -> None:
    retire_again(place)
    (made,) = retirements(place)
    files = place.home(made.name) / "files"
    (files / "q").rename(files / "r")
    (files / "q").symlink_to(files / "r")

    assert [one.item.path for one in items(place)] == ["top.gguf"]


def test_an_item_is_named_by_its_path_when_only_one_has_it(place: Place) -> None:
    retire_again(place)
    held = list(items(place))

    assert [one.item.path for one in named(held, ["b c.gguf"])] == ["q/b c.gguf"]
    assert len(named(held, [held[0].retirement.name, "top.gguf"])) == 3
    with pytest.raises(UsageError, match="nothing in the trash"):
        named(held, ["c.gguf"])


def test_a_file_elsewhere_is_not_taken_be_it_by_a_link(place: Place, tmp_path: Path) -> None:
    (place.folder / "away").symlink_to("/usr")

    assert inside(place.folder, str(place.folder / "q/../top.gguf")) == "top.gguf"
    for path in ("/etc/passwd", str(place.folder / "away/bin"), str(place.folder)):
        with pytest.raises(Refused, match="outside"):
            inside(place.folder, path)
    with pytest.raises(Refused, match="not UTF-8"):
        inside(place.folder, str(place.folder / "\udcff.gguf"))


def test_files_of_the_top_folder_have_nothing_to_do_with_one_another(place: Place) -> None:
    assert stays_beside(walk(place.folder), ["top.gguf"]) == ()
    assert warning_of(()) == ""
