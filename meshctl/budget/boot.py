"""Reads the log of a boot, of any engine whose words are known, into what it measured. Pure.

    boot_vllm, boot_llama   lines -> facts, in each engine's words
    boot_recall    which remembered boot speaks for a plan, and for what of it
    boot_compare   predicted against measured, and what went wrong

A log is anybody's: lines are cut, counted, and a number that no machine has is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from pydantic import ValidationError

from meshctl.budget.boot_facts import Found
from meshctl.budget.boot_llama import read_llama
from meshctl.budget.boot_vllm import read_vllm
from meshctl.budget.on_card import ENGINES
from meshctl.engines.boot import BootFacts, read_boot
from meshctl.engines.known import ENGINES as FAMILIES
from meshctl.state.boot import Boot

READERS: Mapping[str, Callable[[Iterable[str]], Found]] = {
    "vllm": read_vllm,
    "llama-server": read_llama,
}
"""By the engine's name in a fleet file."""
MOST_LINES = 200_000
LONGEST_LINE = 4000


def boot_of_log(engine: str, lines: Iterable[str], model: str = "") -> Boot:
    """What the last boot in a log measured; empty where it shows none. `engine` is one of READERS.

    A mesh marks what its engines say with `[model] `: with such marks only that model's lines
    count.
    """
    found = READERS[engine](spoken(lines, model))
    while True:
        try:
            return Boot.model_validate({**found, "engine": ENGINES[engine]})
        except ValidationError as error:
            for one in error.errors(include_url=False):
                found.pop(str(one["loc"][0]), None)


def boot_of_any(lines: list[str]) -> tuple[str, Boot] | None:
    """The engine whose words a log speaks, and its boot; None where no words are known."""
    read = ((engine, boot_of_log(engine, lines)) for engine in READERS)
    return next((each for each in read if each[1].said_anything), None)


def cause_of_log(engine: str, lines: Iterable[str], model: str = "") -> BootFacts:
    """Why an engine did not come up, as far as its family's signatures tell."""
    return read_boot(FAMILIES[engine], spoken(lines, model))


def spoken(lines: Iterable[str], model: str = "") -> Iterator[str]:
    """What the engine said: without the mesh's mark, out of JSON where it wrote that, cut."""
    known = list(islice(lines, MOST_LINES))
    mark = f"[{model}] "
    if model and any(line.startswith(mark) for line in known):
        known = [line.removeprefix(mark) for line in known if line.startswith(mark)]
    for line in known:
        for part in _message(line[: 4 * LONGEST_LINE]).splitlines():
            yield part[:LONGEST_LINE].rstrip()


def _message(line: str) -> str:
    """The words of a JSON line, of llama-server's `msg` or a formatter's `message`."""
    if not line.lstrip().startswith("{"):
        return line
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return line
    said = [data.get(key) for key in ("msg", "message")] if isinstance(data, dict) else []
    return next((text for text in said if isinstance(text, str)), line)
