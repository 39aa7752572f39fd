"""What the bytes of a disk are: real blocks, each counted once, and unknown where it is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meshctl.outside.disk import Seen, is_locked, printable, walk
from meshctl.outside.partial import held
from meshctl.payloads.caches import caches
from meshctl.payloads.space import Known, Space, kind_of, spaces
from tests.fakes.fake_clock import FakeClock

NONE = Known({}, frozenset(), frozenset())


def seen(path: str, inode: int = 1, **changed: Any) -> Seen:
    given = {"path": path, "kind": "file", "bytes": 10, "real": 4096, "mtime_ns": 1, "device": 1,
             "inode": inode, "names": 1} | changed  # fmt: skip
    return Seen(**given)


def kinds(path: str, known: Known = NONE, *manifests: str) -> tuple[str, bool | None]:
    found = kind_of(seen(path), known, frozenset(manifests))
    return found.what, found.reclaimable


@pytest.mark.parametrize(
    ("path", "what", "can_go"),
    [
        (".meshctl-trash/20261130T204500Z/files/a.gguf", "trash", True),
        (".a.gguf.part", "partial", True),
        ("q/.a.gguf.part.json", "partial", True),
        (".q.parts/a.gguf", "partial", True),
        ("q/.a.gguf.repair/a.gguf", "partial", True),
        ("a.GGUF", "unreferenced", True),
        ("q/a.gguf.manifest.json", "unreferenced", True),
        ("notes.txt", "other", None),
    ],
)
def test_a_file_is_told_by_where_it_lies(path: str, what: str, can_go: bool | None) -> None:
    assert kinds(path) == (what, can_go)


def test_what_somebody_uses_stays_and_so_does_what_is_being_fetched() -> None:
    known = Known({"q/a.gguf": "services.x"}, frozenset({".b.gguf.part"}), frozenset({"c.knotty"}))

    assert kinds("q/a.gguf", known) == ("payload", False)
    assert kinds("q/a.gguf.manifest.json", known) == ("payload", False)
    assert kinds(".b.gguf.part", known) == ("partial", False)
    assert kinds("c.knotty", known) == ("unreferenced", True)
    assert kinds("d.bytes", known, "d.bytes") == ("unreferenced", True)


def test_where_somebody_could_not_be_searched_nothing_is_called_free() -> None:
    unsure = Known({}, frozenset(), frozenset(), unclear="targets.attic")

    assert kinds("a.gguf", unsure) == ("unreferenced", None)
    assert kinds(".meshctl-trash/20261130T204500Z/a", unsure) == ("trash", True)


def summed(*files: Seen, known: Known = NONE) -> list[Space]:
    return spaces([(one, kind_of(one, known, frozenset())) for one in files])


def test_a_sparse_file_takes_what_its_blocks_take() -> None:
    (found,) = summed(seen("x4e.bin", bytes=3_300_000_000, real=4096))

    assert (found.real, found.apparent) == (4096, 3_300_000_000)


def test_a_file_with_two_names_is_counted_once_where_it_stays() -> None:
    known = Known({"live.gguf": "services.x"}, frozenset(), frozenset())
    both = [seen("old.gguf", names=2), seen("live.gguf", names=2)]

    found = {one.kind.what: one.real for one in summed(*both, known=known)}

    assert found == {"payload": 4096, "unreferenced": 0}


def test_a_file_with_a_name_elsewhere_frees_nothing_for_certain() -> None:
    (found,) = summed(seen("old.gguf", names=2))

    assert found.kind.reclaimable is None and "elsewhere" in found.kind.why


def test_a_folder_is_read_as_it_lies_and_no_link_is_followed(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**30)
    (tmp_path / "out").symlink_to("/usr")
    (tmp_path / "q").mkdir()
    (tmp_path / "q/a").write_bytes(bytes(8192))
    (tmp_path / "b").hardlink_to(tmp_path / "q/a")

    found = {one.path: one for one in walk(tmp_path).seen}

    assert set(found) == {"sparse", "out", "q/a", "b"}
    assert (found["sparse"].bytes, found["sparse"].real) == (2**30, 0)
    assert found["out"].kind == "link"
    assert found["b"].identity == found["q/a"].identity and found["b"].names == 2


def test_a_partial_that_a_fetch_holds_is_seen_to_be_held(tmp_path: Path) -> None:
    with held(tmp_path / "a", FakeClock(), 0) as partial:
        assert is_locked(partial.path)

    assert not is_locked(tmp_path / ".a.part")


def test_caches_are_where_their_own_variables_say() -> None:
    usual = [cache.path for cache in caches({"HOME": "/h"})]
    moved = [cache.path for cache in caches({"HF_HOME": "/hf", "UV_CACHE_DIR": "/uv"})]

    assert usual == ["/h/.cache/huggingface/hub", "/h/.cache/pip", "/h/.cache/uv"]
    assert moved == ["/hf/hub", "/uv"]
    assert caches({}) == ()


def test_a_name_that_is_no_utf8_can_be_shown() -> None:
    assert printable("\udcff.gguf") == "\\xff.gguf"
