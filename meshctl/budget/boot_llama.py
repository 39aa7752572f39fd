"""Reads what llama-server says of its memory while it starts, with -lv 4. Pure.

Templates: facts/serving 3.1 and facts/budget 2.4. Where it first fits its settings into memory,
that attempt's buffers are not those that it has in the end.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable

from pydantic import ValidationError

from meshctl.budget.boot_facts import (
    COUNT,
    NUMBER,
    Found,
    count,
    fact,
    mib,
    take_all,
    without,
    yes,
)
from meshctl.state.boot import MOST_ROWS, Buffer, CacheSize, Part

FACTS = (
    fact("version", r"\bbuild(?:_info)?: (?:build )?(b?\d{1,9}(?:-[0-9a-f]{6,40})?)", str),
    fact("version", r"common_params_print_info: build (\d{1,9})", str),
    fact("context", rf"\bn_ctx_seq +=? *{COUNT}$", count),
    fact("context", rf"\bn_ctx_slot = {COUNT}", count),
    fact("context", rf"\bnew slot,? n_ctx(?:_slot)? = {COUNT}", count),
    fact("sequences", rf"\bn_slots = {COUNT}", count),
    fact("shrunk_from", rf"context size reduced from {COUNT} to", count),
    fact("shrunk_from", rf"slot context \({COUNT}\) exceeds the training context", count),
    fact("layers_on_card", rf"offloaded {COUNT}/\d+ layers to GPU", count),
    fact("layers", rf"offloaded \d+/{COUNT} layers to GPU", count),
    fact("ready", r"(?:llama_server|main): model loaded|server is listening on", yes),
)
BUFFER = re.compile(rf"(\S{{1,64}}) +(model|KV|RS|compute|output) buffer size = +{NUMBER} MiB")
PARTS: dict[str, Part] = {"model": "weights", "KV": "caches", "RS": "state", "compute": "compute",
                          "output": "output"}  # fmt: skip
CACHE = re.compile(
    rf"llama_kv_cache\w*: size = +{NUMBER} MiB "
    r"\( *(\d{1,12}) cells, +(\d{1,6}) layers, +\d{1,6}/(\d{1,6}) seqs\)"
)
STATE = re.compile(
    rf"llama_memory_recurrent: size = +{NUMBER} MiB "
    r"\( *(\d{1,12}) cells, +(\d{1,6}) layers, +(\d{1,6}) seqs"
)
_START = re.compile(r"\bloading model '|main: loading model$")
_FITTED = re.compile(r"successfully fit params|fitting params to (?:free|device) memory took")


def read_llama(lines: Iterable[str]) -> Found:
    """The keys of a Boot; of several boots the last."""
    found: Found = {}
    for line in lines:
        if _START.search(line):
            found = without(found, ("version",))
        if _FITTED.search(line):
            found = without(found, ("version", "shrunk_from"))
        take_all(FACTS, line, found)
        with contextlib.suppress(ValidationError):  # a size that no device has
            _take_sizes(line, found)
    return found


def _take_sizes(line: str, found: Found) -> None:
    if " buffer size" in line and (match := BUFFER.search(line)):
        buffer = Buffer(device=match[1], part=PARTS[match[2]], bytes=mib(match[3]))
        _append(found, "buffers", buffer)
    for key, pattern in (("caches", CACHE), ("states", STATE)):
        if match := pattern.search(line):
            cells, layers, streams = int(match[2]), int(match[3]), int(match[4])
            size = CacheSize(cells=cells, layers=layers, streams=streams, bytes=mib(match[1]))
            _append(found, key, size)


def _append(found: Found, key: str, row: Buffer | CacheSize) -> None:
    rows = found.setdefault(key, [])
    if len(rows) < MOST_ROWS:
        rows.append(row)
