"""All that is known of failures, whoever says so. Pure."""

from __future__ import annotations

from functools import lru_cache

from meshctl.engines.boot import signature_of
from meshctl.engines.common import union
from meshctl.engines.engine import Course, Engine, Signature
from meshctl.engines.known import ENGINES
from meshctl.engines.signatures.common import COMMON
from meshctl.engines.signatures.container import CONTAINER
from meshctl.engines.signatures.hub import HUB
from meshctl.engines.signatures.llama_server import LLAMA
from meshctl.engines.signatures.system import SYSTEM
from meshctl.engines.signatures.torch import TORCH
from meshctl.engines.signatures.vllm import VLLM_FAILURES

FAMILIES: tuple[Engine, ...] = tuple(ENGINES.values())
CATALOGUE: tuple[Signature, ...] = (
    *CONTAINER, *SYSTEM, *VLLM_FAILURES, *LLAMA, *TORCH, *HUB, *COMMON,
)  # fmt: skip
"""The first that fits a line counts: what is said by few stands before what is said by many."""
SPEAKERS: dict[str, tuple[Signature, ...]] = {
    "vllm": VLLM_FAILURES,
    "llama-server": LLAMA,
}
"""What only this engine says."""
ERROR = union(*(family.error.pattern for family in FAMILIES))
WRAPPERS = union(*(family.wrappers.pattern for family in FAMILIES))


def without_prefix(line: str) -> str:
    """The line without what an engine of any family writes in front."""
    for family in FAMILIES:
        line = family.prefix.sub("", line, count=1)
    return line.strip()


@lru_cache(maxsize=4096)
def failure_of(words: str, phase: Course) -> Signature | None:
    """The known failure that a line names; remembered, for in a loop of crashes lines repeat."""
    return signature_of(CATALOGUE, words, phase)


def engine_of(signature: Signature) -> str | None:
    """The engine that alone says so."""
    found = (name for name, own in SPEAKERS.items() if any(each is signature for each in own))
    return next(found, None)
