"""One gzip stream of mixed levels."""

from __future__ import annotations

import gzip
import io
import random
import subprocess

import pytest

from meshctl.build.gzipped import LEVEL, SAMPLE_BYTES, STORED, Gzipped, level_for

NOISE = random.Random(1).randbytes(SAMPLE_BYTES)
TEXT = b"the same again " * (SAMPLE_BYTES // 15)


def zipped(*parts: tuple[int, bytes]) -> bytes:
    out = io.BytesIO()
    stream = Gzipped(out)
    for level, data in parts:
        stream.set_level(level)
        stream.write(data)
    stream.finish()
    return out.getvalue()


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [(LEVEL, b"")],
        [(STORED, NOISE)],
        [(LEVEL, TEXT), (STORED, NOISE), (LEVEL, TEXT), (LEVEL, TEXT), (STORED, b"")],
    ],
)
def test_what_is_written_comes_out_again(parts: list[tuple[int, bytes]]) -> None:
    data = zipped(*parts)

    assert gzip.decompress(data) == b"".join(part for _, part in parts)


def test_gzip_itself_reads_it_as_one_member() -> None:
    data = zipped((LEVEL, TEXT), (STORED, NOISE), (LEVEL, TEXT))

    done = subprocess.run(["gzip", "-dc"], input=data, capture_output=True, check=True)

    assert done.stdout == TEXT + NOISE + TEXT
    assert data.count(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff") == 1


def test_only_what_is_worth_it_is_compressed() -> None:
    assert level_for(io.BytesIO(TEXT), len(TEXT)) == LEVEL
    assert level_for(io.BytesIO(NOISE), len(NOISE)) == STORED


def test_a_file_is_judged_by_its_middle_and_left_at_its_beginning() -> None:
    file = io.BytesIO(TEXT + NOISE * 4)

    assert level_for(file, len(TEXT) + 4 * len(NOISE)) == STORED
    assert file.tell() == 0


@pytest.mark.parametrize("size", [0, 1, SAMPLE_BYTES - 1])
def test_small_files_are_always_compressed(size: int) -> None:
    assert level_for(io.BytesIO(NOISE[:size]), size) == LEVEL
