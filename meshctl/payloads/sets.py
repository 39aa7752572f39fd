"""Reads all files of a model that is cut into several, and proves that they are one set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.ranges import Changed, Folder, Missing
from meshctl.payloads.gguf import read_gguf
from meshctl.payloads.header import Damaged, Header, Problem, Tensor
from meshctl.payloads.safetensors import read_safetensors
from meshctl.payloads.shape import file_problems, size_problems
from meshctl.payloads.sniff import pretence
from meshctl.payloads.window import Window

FIRST = 256 * 1024
"""Bytes of the first request to a part: without a vocabulary its header is short."""
AT_ONCE = 8
UNREAD = "part-unread"


@dataclass(frozen=True)
class Read:
    """One file of a set: its header and size, None where they could not be read; what is wrong."""

    name: str
    header: Header | None
    bytes: int | None
    problems: tuple[Problem, ...] = ()


def read_parts(folder: Folder, names: Sequence[str]) -> list[Read]:
    """Each file, several at a time, in the order of the names. Never raises for one of them."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda name: _read(folder, name), names))


def _read(folder: Folder, name: str) -> Read:
    try:
        ranges = folder.open(name)
        window = Window(ranges, first=FIRST)
        wrong = pretence(bytes(window.data[:FIRST]), window.size)
        if wrong:
            return Read(name, None, window.size, (_in(name, wrong),))
        gguf = name.lower().endswith(".gguf")
        header = read_gguf(window) if gguf else read_safetensors(window)
        found = file_problems(header, name, ranges) if gguf else size_problems(header, ranges)
        return Read(name, header, window.size, tuple(_in(name, one) for one in found))
    except Missing:
        return Read(name, None, None, (Problem("missing-part", f"{name} is missing"),))
    except Damaged as error:
        return Read(name, None, ranges.size, (_in(name, error.problem),))
    except Changed:
        raise
    except (Unreachable, Refused) as error:
        return Read(name, None, None, (_unread(name, error),))


def gguf_set_problems(parts: Sequence[Read]) -> Iterator[Problem]:
    """Whether the parts that could be read belong together, and are all there is."""
    headers = [part.header for part in parts if part.header is not None]
    counts = sorted({header.number("split.count") or 0 for header in headers})
    if len(counts) > 1:
        yield Problem("wrong-total", f"the headers disagree on the number of parts: {counts}")
    yield from _twice(headers)
    total = next((t for h in headers if (t := h.number("split.tensors.count")) is not None), None)
    found = sum(len(header.tensors) for header in headers)
    if total is not None and len(headers) == len(parts) and found != total:
        yield Problem("wrong-total", f"the set has {total:,} tensors, its parts hold {found:,}")


def index_problems(index: dict[str, str], parts: Sequence[Read]) -> Iterator[Problem]:
    """Whether every tensor is in the file that the index names."""
    held = {part.name: {t.name for t in part.header.tensors} for part in parts if part.header}
    lost = [name for name, file in index.items() if file in held and name not in held[file]]
    if lost:
        yield Problem(
            "missing-tensor", f"{len(lost)} tensors of the index are not in their file, the first "
            f"is {lost[0]}"
        )  # fmt: skip
    yield from _twice([part.header for part in parts if part.header])


def joined(headers: Sequence[Header]) -> Header:
    """The model as one header: the first file's metadata, the tensors of all."""
    tensors: tuple[Tensor, ...] = tuple(tensor for one in headers for tensor in one.tensors)
    return replace(headers[0], tensors=tensors)


def _twice(headers: Sequence[Header]) -> Iterator[Problem]:
    seen: set[str] = set()
    for header in headers:
        for tensor in header.tensors:
            if tensor.name in seen:
                yield Problem("twice", f"the tensor {tensor.name} is in two parts")
                return
            seen.add(tensor.name)


def _in(name: str, problem: Problem) -> Problem:
    return Problem(problem.id, f"{name}: {problem.message}")


def _unread(name: str, error: MeshctlError) -> Problem:
    return Problem(UNREAD, f"{name} could not be read, so the set is not proved: {error.message}")
