"""Says what a payload really is, from the few bytes that tell, and what is wrong with it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

from meshctl.outside.ranges import Folder, Missing
from meshctl.payloads.config import NAME as CONFIG
from meshctl.payloads.config import named, read_config
from meshctl.payloads.gguf import TEMPLATE, read_gguf
from meshctl.payloads.header import Damaged, Header, Problem
from meshctl.payloads.quantisation import (
    contradiction,
    parameters_of,
    quantisation_of,
    unmet,
    unmet_by_size,
)
from meshctl.payloads.safetensors import LONGEST_HEADER, read_index, read_safetensors
from meshctl.payloads.sets import (
    FIRST,
    UNREAD,
    Read,
    gguf_set_problems,
    index_problems,
    joined,
    read_parts,
)
from meshctl.payloads.shape import file_problems, size_problems
from meshctl.payloads.sniff import Format, format_of, pretence
from meshctl.payloads.split import MOST_PARTS, Part, part_of
from meshctl.payloads.window import PIECE, Window

Verdict = Literal["pass", "fail", "unclear"]
INDEX = ".safetensors.index.json"
NOT_PROVED = (UNREAD, "expect-unknown")
"""Problems that say what could not be found out: with nothing worse the verdict is *unclear*."""


@dataclass(frozen=True)
class Wish:
    """What the payload is declared to be; None is not declared."""

    expect: str | None = None
    format: Format | None = None
    parameters: int | None = None


@dataclass(frozen=True)
class Inspection:
    """What was found; None is unknown. `header` is that of all files together."""

    source: str
    format: Format
    header: Header | None
    bytes: int | None
    parameters: int | None
    part: Part | None
    problems: tuple[Problem, ...]

    @property
    def verdict(self) -> Verdict:
        ids = {problem.id for problem in self.problems}
        return "pass" if not ids else "unclear" if ids <= set(NOT_PROVED) else "fail"

    @property
    def quantisation(self) -> str | None:
        return quantisation_of(self.header) if self.header else None

    @property
    def context_length(self) -> int | None:
        if self.header is None or self.header.format == "gguf":
            return self.header.of("context_length") if self.header else None
        found = named(dict(self.header.metadata), "max_position_embeddings")
        return found if type(found) is int else None

    @property
    def chat_template_sha256(self) -> str | None:
        return self.header.digests.get(TEMPLATE) if self.header else None

    @property
    def tokenizer_sha256(self) -> str | None:
        return tokenizer_digest(self.header) if self.header else None

    @property
    def draft_head(self) -> bool | None:
        return self.header.draft_head if self.header else None


def inspect(folder: Folder, name: str, wish: Wish) -> Inspection:
    """Read one file, and its siblings where it is part of a set.

    Raises Missing when the file itself is not there, Unreachable and Refused when it cannot be
    read; whatever is wrong with its bytes is a problem of the answer.
    """
    if name.endswith(INDEX):
        return _judged(_indexed(folder, name, None), wish)
    ranges = folder.open(name)
    window = Window(ranges, first=PIECE if name.lower().endswith(".gguf") else FIRST)
    start = bytes(window.data[: 2**16])
    kind = wish.format or format_of(name, start)
    plain = Inspection(
        folder.shown + name, kind, None, window.size, wish.parameters, part_of(name), ()
    )
    wrong = pretence(start, window.size, opaque=kind == "opaque")
    if wrong:  # whatever its name says, it is none of that
        return replace(plain, format="opaque", problems=(wrong,))
    try:
        found = _READERS[kind](plain, folder, name, window)
    except Damaged as error:
        return replace(plain, problems=(error.problem,))
    return _judged(found, wish)


def tokenizer_digest(header: Header) -> str | None:
    """One sha256 over every tokenizer key but the chat templates; None where there are none."""
    digest = hashlib.sha256()
    keys = sorted(key for key in {*header.metadata, *header.digests} if _of_tokenizer(key))
    for key in keys:
        value = header.digests.get(key) or repr(header.metadata[key])
        digest.update(f"{key}={value}\n".encode("utf-8", "replace"))
    return digest.hexdigest() if keys else None


def _of_tokenizer(key: str) -> bool:
    return key.startswith("tokenizer.") and not key.startswith(TEMPLATE)


def _opaque(found: Inspection, folder: Folder, name: str, window: Window) -> Inspection:
    """Nothing is known but the size."""
    return replace(found, part=None)


def _gguf(found: Inspection, folder: Folder, name: str, window: Window) -> Inspection:
    header = read_gguf(window)
    own = Read(name, header, window.size, tuple(file_problems(header, name, window.ranges)))
    part = found.part
    if part is None or max(part.count, header.number("split.count") or 1) == 1:
        return _of([own], replace(found, part=_said_part(header)))
    others = [other for other in part.names() if other != name]
    parts = sorted([own, *read_parts(folder, others)], key=lambda one: one.name)
    problems = list(gguf_set_problems(parts))
    if part.count > MOST_PARTS:
        problems.append(Problem("wrong-total", f"more than {MOST_PARTS} parts are not read"))
    return _of(parts, found, problems)


def _said_part(header: Header) -> Part | None:
    """What the header says of a file whose name says nothing."""
    count = header.number("split.count") or 0
    return Part("", (header.number("split.no") or 0) + 1, count, ".gguf") if count > 1 else None


def _safetensors(found: Inspection, folder: Folder, name: str, window: Window) -> Inspection:
    part = found.part
    if part is not None and part.count > 1:
        return replace(_indexed(folder, part.prefix + INDEX, part), source=found.source)
    header = read_safetensors(window)
    own = Read(name, header, window.size, tuple(size_problems(header, window.ranges)))
    return _with_config(_of([own], replace(found, part=None)), folder)


def _indexed(folder: Folder, name: str, part: Part | None) -> Inspection:
    """All files that the index names; without one, all that the name of a part tells of."""
    plain = Inspection(folder.shown + name, "safetensors", None, None, None, part, ())
    problems: list[Problem] = []
    try:
        index = read_index(Window(folder.open(name), limit=LONGEST_HEADER))
        names = sorted(set(index.values()))
    except Missing:
        if part is None:
            raise
        index, names = {}, part.names()
        problems.append(Problem("missing-index", f"{name} is missing: loaders find no part"))
    except Damaged as error:
        return replace(plain, problems=(Problem(error.problem.id, f"{name}: {error.message}"),))
    parts = read_parts(folder, names)
    if part and index and part.count != len(names):
        total = f"its name says {part.count} parts, the index {len(names)}"
        problems.append(Problem("wrong-total", total))
    problems += index_problems(index, parts)
    part = part or part_of(names[0])
    return _with_config(_of(parts, replace(plain, part=part), problems), folder)


def _of(parts: list[Read], found: Inspection, problems: list[Problem] | None = None) -> Inspection:
    """The files taken together; sizes and parameters are unknown where one could not be read."""
    headers = [part.header for part in parts if part.header is not None]
    whole = len(headers) == len(parts)
    sizes = [part.bytes for part in parts if part.bytes is not None]
    header = joined(headers) if headers else None
    return replace(
        found,
        header=header,
        bytes=sum(sizes) if len(sizes) == len(parts) else None,
        parameters=parameters_of(header) if header and whole else found.parameters,
        problems=tuple([*(p for part in parts for p in part.problems), *(problems or [])]),
    )


def _with_config(found: Inspection, folder: Folder) -> Inspection:
    """The same with what config.json says; without it architecture and context are unknown."""
    if found.header is None:
        return found
    try:
        config = read_config(Window(folder.open(CONFIG), first=FIRST, limit=10**6))
    except Missing:
        return found
    except Damaged as error:
        wrong = Problem(error.problem.id, f"{CONFIG}: {error.message}")
        return replace(found, problems=(*found.problems, wrong))
    model = config.get("model_type")
    header = replace(
        found.header,
        architecture=model if isinstance(model, str) else None,
        metadata={**found.header.metadata, **config},
    )
    parameters = parameters_of(header) if found.parameters is not None else None
    return replace(found, header=header, parameters=parameters)


def _judged(found: Inspection, wish: Wish) -> Inspection:
    problems = _judgements(found, wish)
    parameters = found.parameters if found.parameters is not None else wish.parameters
    return replace(found, parameters=parameters, problems=(*found.problems, *problems))


def _judgements(found: Inspection, wish: Wish) -> list[Problem]:
    header, asked = found.header, wish.expect
    wrong: list[Problem | None] = []
    if header is not None and header.format == "gguf":
        wrong.append(contradiction(header, found.source.rpartition("/")[2]))
    if asked and header is not None:
        wrong.append(unmet(asked, header))
    elif asked and found.format == "opaque" and found.bytes is not None:
        wrong.append(unmet_by_size(asked, found.bytes, found.parameters))
    elif asked:
        wrong.append(Problem("expect-unknown", f"no header shows whether it is {asked}"))
    return [problem for problem in wrong if problem is not None]


_READERS = {"gguf": _gguf, "safetensors": _safetensors, "opaque": _opaque}
