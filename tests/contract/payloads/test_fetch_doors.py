"""A fetch through the real doors: cut, changed and lied to, and never half there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meshctl.errors import CheckFailed, MeshctlError, Refused, Unreachable, UsageError
from meshctl.outside.gcp import Calls
from meshctl.outside.http_kept import KeptHttp
from meshctl.outside.ranges import Changed
from meshctl.outside.ranges_open import Doors
from meshctl.outside.retries import Patience
from meshctl.payloads.fetch import fetch
from meshctl.payloads.locate import locate
from meshctl.payloads.pieces import AT_ONCE
from meshctl.payloads.wanted import Fetched, Hands, Wanted
from tests.fakes.fake_clock import FakeClock
from tests.fakes.model_hub import ModelHub, Zeros

MB = 2**20
SMALL = random.Random(1).randbytes(3 * MB)
PAGE = b"<!doctype html><html>log in</html>"


def bring(
    hub: ModelHub,
    folder: Path,
    source: str,
    *,
    sha256: str | None = None,
    size: int | None = None,
    unproved: bool = False,
    **environ: str,
) -> Fetched:
    """One fetch in this process; nobody waits between two tries."""
    clock = FakeClock()
    doors = Doors(KeptHttp(), {"HF_ENDPOINT": hub.url, **environ}, clock, Calls())
    found = locate(source, doors)
    to, of_hub = folder / found.name, source.startswith("hub:")
    wanted = Wanted(found.folder, found.name, to, size, sha256, of_hub, unproved)
    return fetch(wanted, Hands(clock, Patience(clock)))


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with ModelHub({"m.gguf": SMALL, "page.gguf": PAGE}) as made:
        yield made


def told(error: MeshctlError) -> str:
    """Place, cause and next command: all three are there."""
    assert error.message and error.place and error.hint
    return f"{error.message} {error.hint}"


def test_a_small_file_of_the_hub_is_proved_by_its_git_digest(tmp_path: Path) -> None:
    with ModelHub({"config.json": b'{"a": 1}'}, lfs=False) as hub:
        found = bring(hub, tmp_path, hub.source("config.json"))

    assert found.proved_by == "the git digest that the hub names"


def test_a_small_file_with_another_git_digest_is_refused(tmp_path: Path) -> None:
    with ModelHub({"config.json": b'{"a": 1}'}, lfs=False) as hub:
        hub.flip = 3
        with pytest.raises(CheckFailed, match="expected git digest"):
            bring(hub, tmp_path, hub.source("config.json"))

    assert left(tmp_path) == []


def test_what_is_there_and_proved_is_not_asked_for_again(hub: ModelHub, tmp_path: Path) -> None:
    bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])
    questions = len(hub.asked)

    again = bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])

    assert (again.there, again.sent, again.proved_by) == (True, 0, "the declared sha256")
    assert len(hub.asked) == questions


def test_a_right_file_without_a_manifest_is_read_and_gets_one(
    hub: ModelHub, tmp_path: Path
) -> None:
    (tmp_path / "m.gguf").write_bytes(SMALL)

    found = bring(hub, tmp_path, hub.source("m.gguf"))

    assert found.there and found.proved_by
    assert left(tmp_path) == ["m.gguf", "m.gguf.manifest.json"]


def test_a_file_that_was_changed_since_is_not_taken_for_proved(
    hub: ModelHub, tmp_path: Path
) -> None:
    bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])
    (tmp_path / "m.gguf").write_bytes(bytes(len(SMALL)))

    with pytest.raises(Refused, match="another file of that name"):
        bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])

    assert (tmp_path / "m.gguf").read_bytes() == bytes(len(SMALL)), "it is not ours to remove"


def test_without_a_digest_nothing_is_fetched_unless_it_is_taken_as_it_comes(
    hub: ModelHub, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        bring(hub, tmp_path, hub.web("m.gguf"))
    taken = bring(hub, tmp_path, hub.web("m.gguf"), unproved=True)

    assert "--sha256" in told(refused.value)
    assert (taken.proved_by, taken.sha256) == (None, hub.digests["m.gguf"])


@pytest.mark.parametrize("where", [0, len(SMALL) // 2, len(SMALL) - 1])
def test_one_wrong_byte_anywhere_is_found_and_nothing_is_published(
    where: int, hub: ModelHub, tmp_path: Path
) -> None:
    hub.flip = where

    with pytest.raises(CheckFailed) as wrong:
        bring(hub, tmp_path, hub.source("m.gguf"))

    assert hub.digests["m.gguf"] in told(wrong.value)
    assert left(tmp_path) == []


def test_another_digest_than_the_hub_names_is_refused_before_anything_is_fetched(
    hub: ModelHub, tmp_path: Path
) -> None:
    with pytest.raises(CheckFailed, match="the hub names"):
        bring(hub, tmp_path, hub.source("m.gguf"), sha256="0" * 64)

    assert hub.sent <= 2**16 and left(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("page.gguf", None, "html: a web page"),
        ("m.gguf", 5, "expected 5 bytes, found 3,145,728"),
    ],
)
def test_what_is_not_the_file_is_refused_by_name(
    name: str, size: int | None, said: str, hub: ModelHub, tmp_path: Path
) -> None:
    with pytest.raises(CheckFailed) as wrong:
        bring(hub, tmp_path, hub.web(name), sha256="0" * 64, size=size)

    assert said in told(wrong.value)
    assert left(tmp_path) == []


def test_a_file_that_no_disk_here_can_take_is_refused_before_the_first_byte(
    hub: ModelHub, tmp_path: Path
) -> None:
    hub.contents["big.bin"] = Zeros(10**18)

    with pytest.raises(Refused, match="the disk has"):
        bring(hub, tmp_path, hub.web("big.bin"), sha256="0" * 64)

    assert hub.sent <= 2**16 and left(tmp_path) == []


def test_connections_that_break_are_made_again(hub: ModelHub, tmp_path: Path) -> None:
    hub.cut_every, hub.busy = 4, 2

    found = bring(hub, tmp_path, hub.source("m.gguf"))

    assert found.proved_by and (tmp_path / "m.gguf").read_bytes() == SMALL


def test_many_pieces_come_over_few_connections(hub: ModelHub, tmp_path: Path) -> None:
    bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])

    assert len(hub.asked) > 2 * AT_ONCE
    assert len(hub.callers) <= AT_ONCE + 1


def test_a_source_that_changes_under_way_is_refused_and_then_fetched_anew(
    hub: ModelHub, tmp_path: Path
) -> None:
    def change(sent: int) -> None:
        hub.tag = '"two"' if sent > MB else hub.tag

    hub.before = change

    with pytest.raises(Changed):
        bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])
    again = bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])

    assert again.proved_by and again.resumed == 0


def test_what_a_power_cut_spoiled_is_noticed_and_fetched_once_more(
    hub: ModelHub, tmp_path: Path
) -> None:
    _break_off(hub, tmp_path)
    (part,) = tmp_path.glob(".m.gguf.part")
    part.write_bytes(bytes(part.stat().st_size))

    found = bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])

    assert found.proved_by and (tmp_path / "m.gguf").read_bytes() == SMALL


def test_a_server_that_is_gone_is_unreachable_and_the_next_fetch_goes_on(
    hub: ModelHub, tmp_path: Path
) -> None:
    gone = _break_off(hub, tmp_path)
    found = bring(hub, tmp_path, hub.web("m.gguf"), sha256=hub.digests["m.gguf"])

    assert "are here" in told(gone) and "goes on from there" in gone.hint
    assert found.proved_by and found.resumed > 0
    assert found.resumed + found.sent <= len(SMALL) + 2**16


def test_what_is_here_of_another_source_is_thrown_away(hub: ModelHub, tmp_path: Path) -> None:
    _break_off(hub, tmp_path)

    found = bring(hub, tmp_path, hub.source("m.gguf"))

    assert found.proved_by and found.resumed == 0


def test_what_may_be_of_another_state_is_not_gone_on_with_where_nothing_would_prove_it(
    hub: ModelHub, tmp_path: Path
) -> None:
    _break_off(hub, tmp_path, unproved=True)

    found = bring(hub, tmp_path, hub.web("m.gguf"), unproved=True)

    assert (found.resumed, found.sha256) == (0, hub.digests["m.gguf"])


def _break_off(hub: ModelHub, folder: Path, *, unproved: bool = False) -> MeshctlError:
    """A fetch that lost its server in the middle; the server is well again."""

    def vanish(sent: int) -> None:
        hub.busy = 10**6 if sent > 2 * MB else 0

    hub.before = vanish
    digest = None if unproved else hub.digests["m.gguf"]
    with pytest.raises(Unreachable) as gone:
        bring(hub, folder, hub.web("m.gguf"), sha256=digest, unproved=unproved)
    hub.before, hub.busy = lambda _: None, 0
    return gone.value


Given = Callable[[Path], dict[str, str]]
GIVEN: dict[str, Given] = {
    "environment": lambda path: {"HF_TOKEN": "canary"},
    "file": lambda path: {"HF_TOKEN_PATH": str(path)},
    "login": lambda path: {"HF_HOME": str(path.parent)},
}


@pytest.mark.parametrize("how", GIVEN)
def test_a_token_comes_from_the_environment_a_file_or_the_stored_login(
    how: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("canary\n")
    (tmp_path / "token").chmod(0o600 if how == "file" else 0o644)

    with ModelHub({"m.gguf": SMALL}, token="canary") as hub:
        found = bring(hub, tmp_path, hub.source("m.gguf"), **GIVEN[how](tmp_path / "token"))

    assert found.proved_by


def test_a_token_file_that_others_may_read_is_refused(hub: ModelHub, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("canary")
    (tmp_path / "token").chmod(0o644)

    with pytest.raises(Refused) as refused:
        bring(hub, tmp_path, hub.source("m.gguf"), HF_TOKEN_PATH=str(tmp_path / "token"))

    assert "chmod 600" in told(refused.value) and "canary" not in told(refused.value)


def test_a_gated_repository_is_told_from_one_that_does_not_answer(tmp_path: Path) -> None:
    with ModelHub({"m.gguf": SMALL}, token="canary") as hub, pytest.raises(Refused, match="gated"):
        bring(hub, tmp_path, hub.source("m.gguf"))
