"""Compares what the header of a GGUF file says with the size and the name of the file."""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.outside.ranges import Ranges
from meshctl.payloads.cursor import MAGIC
from meshctl.payloads.header import Header, Problem
from meshctl.payloads.split import part_of

MERGE = "`llama-gguf-split --merge` joins parts; laying one behind the other does not"


def file_problems(header: Header, name: str, ranges: Ranges) -> Iterator[Problem]:
    """What is wrong with one file, whatever is beside it."""
    yield from size_problems(header, ranges)
    unknown = sorted({tensor.type for tensor in header.tensors if tensor.bytes is None})
    if unknown:
        yield Problem(
            "unknown-type", f"tensors of {', '.join(unknown[:5])}: a type that is newer than this "
            "meshctl, or was removed from engines; sizes are unknown"
        )  # fmt: skip
    if header.architecture is None:
        yield Problem("architecture", "the header names no general.architecture")
    yield from _name_problems(header, name)


def size_problems(header: Header, ranges: Ranges) -> Iterator[Problem]:
    """Whether the file ends where its last tensor does, up to the padding behind it."""
    if header.data_end is None:
        return
    end, size = header.data_end, ranges.size
    padded = end + -end % header.alignment if header.tensors else max(end, header.data_start)
    if size < end and header.tensors:
        yield Problem("truncated", f"the file has {size:,} bytes, and its tensors need {end:,}")
    elif size > padded:
        yield _behind(end, padded, size, header, ranges)


def _behind(end: int, padded: int, size: int, header: Header, ranges: Ranges) -> Problem:
    seen = ranges.read(end, min(size, padded + 4))
    if MAGIC in (seen[:4], seen[padded - end : padded - end + 4]):
        return Problem(
            "concatenated", f"another GGUF file begins behind the last tensor: parts were laid one "
            f"behind the other, and the header still says {header.number('split.count') or 0} "
            f"parts; {MERGE}"
        )  # fmt: skip
    return Problem("trailing-bytes", f"{size - padded:,} bytes more than the tensors need")


def _name_problems(header: Header, name: str) -> Iterator[Problem]:
    """Engines find the parts by the name of the first, and refuse a name that says other."""
    part, count = part_of(name), header.number("split.count") or 0
    index = (header.number("split.no") or 0) + 1
    total = header.number("split.tensors.count")
    if part is None and count > 1:
        whole = total == len(header.tensors)
        yield Problem(
            "split-count" if whole else "renamed-part",
            f"the header says part {index} of {count}, and the name does not: engines refuse it"
            + (f"; {MERGE}" if whole else f"; name it NAME-{index:05}-of-{count:05}.gguf"),
        )
    if part is not None and part.count != max(count, 1):
        yield Problem("wrong-total", f"its name says {part.count} parts, its header {count or 1}")
    elif part is not None and count > 1 and part.index != index:
        yield Problem("renamed-part", f"its name says part {part.index}, its header part {index}")
