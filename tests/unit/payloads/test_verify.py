"""Files are what was declared, or they are not, or nobody can say."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from meshctl.outside.disk import walk
from meshctl.payloads.declared import home_of, of_file, of_payload, with_manifest, written_manifest
from meshctl.payloads.manifest import Manifest, manifest_path
from meshctl.payloads.verify import Declared, prove, prove_sets
from meshctl.spec.model import Payload
from tests.fakes.model_files import part_name, parts

DATA = bytes(range(256)) * 5000
SHA = hashlib.sha256(DATA).hexdigest()


def declared(path: Path, size: int | None = len(DATA), sha256: str | None = SHA) -> Declared:
    return Declared(path, size, sha256, "the test")


def test_each_file_gets_its_own_verdict_in_the_order_asked(tmp_path: Path) -> None:
    flipped = bytearray(DATA)
    flipped[-1] ^= 1
    for name, data in {"good": DATA, "flipped": flipped, "short": DATA[:-1]}.items():
        (tmp_path / name).write_bytes(data)
    os.mkfifo(tmp_path / "pipe")
    names = ("flipped", "good", "short", "missing", "pipe")

    found = prove([declared(tmp_path / name) for name in names])

    assert [one.verdict for one in found] == ["fail", "pass", "fail", "fail", "unclear"]
    assert [one.missing for one in found] == [False, False, False, True, False]
    assert found[1].sha256 == SHA
    assert "1,279,999 bytes, not 1,280,000" in found[2].why


def test_a_corrupt_byte_anywhere_is_found(tmp_path: Path) -> None:
    for place in (0, 1, 2**19, len(DATA) - 1):
        flipped = bytearray(DATA)
        flipped[place] ^= 0x80
        (tmp_path / str(place)).write_bytes(flipped)
        assert prove([declared(tmp_path / str(place))])[0].verdict == "fail", place


def test_what_nobody_declared_is_not_proved(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(DATA)

    (found,) = prove([of_file(tmp_path / "x")])

    assert (found.verdict, found.sha256) == ("unclear", SHA)


def test_progress_counts_the_bytes_of_all_files(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    for name in "ab":
        (tmp_path / name).write_bytes(DATA)

    prove([declared(tmp_path / n) for n in "ab"], lambda _, done, total: told.append((done, total)))

    assert told[-1] == (2 * len(DATA), 2 * len(DATA))


def manifest(file: Path, **changed: object) -> None:
    given = {"source": "hub:x", "version": "", "bytes": len(DATA), "sha256": SHA,
             "proved_by": "the hub", "mtime_ns": 1, "at": "2026-11-30T20:45:00Z"}  # fmt: skip
    manifest_path(file).write_text(Manifest.model_validate(given | changed).text())


def test_files_with_a_manifest_are_found_gone_or_not_and_the_trash_is_left_out(
    tmp_path: Path,
) -> None:
    for name in ("a", "q/b", ".meshctl-trash/c", ".q.parts/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        manifest(tmp_path / name)
    (tmp_path / "broken.manifest.json").write_text('{"kind": 1}')

    found = list(with_manifest(tmp_path, walk(tmp_path)))

    assert [one.path.name for one in found] == ["a", "broken", "b"]
    assert found[0].by == "its manifest of 2026-11-30 (the hub)"
    assert written_manifest(tmp_path / "broken") is None


def test_a_payload_lies_where_fetch_puts_it_or_where_its_source_says(tmp_path: Path) -> None:
    file = {"m.gguf": {"bytes": 1, "sha256": SHA}}
    hub = Payload.model_validate({"source": f"hub:o/m@{'0' * 40}", "files": file})
    local = Payload.model_validate({"source": "file:models/m.gguf", "files": file})

    assert home_of("m", hub, None, Path("f")) == Path("m")
    assert home_of("m", hub, Path("at"), Path("f")) == Path("at/m")
    assert home_of("m", local, None, Path("f")) == Path("f/models")
    assert home_of("m", local, Path("at"), Path("f")) == Path("at/m")
    assert of_payload("m", local, Path("h"))[0].path == Path("h/m.gguf")


@pytest.mark.parametrize("broken", [False, True])
def test_the_parts_of_a_model_are_judged_as_a_set(tmp_path: Path, broken: bool) -> None:
    for number, data in enumerate(parts(3), start=1):
        (tmp_path / part_name(number, 3)).write_bytes(data)
    if broken:
        (tmp_path / part_name(2, 3)).unlink()
    files = [tmp_path / part_name(number, 3) for number in (1, 2, 3)]

    (found,) = prove_sets([*files, tmp_path / "alone.gguf"])

    assert found.verdict == ("fail" if broken else "pass")
    assert [one.partition(":")[0] for one in found.problems] == ["missing-part"] * broken
