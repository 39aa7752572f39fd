"""How many hosts at a time: few first, and further only from what went well. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def cut(count: int, batches: Sequence[str]) -> tuple[int, ...]:
    """Sizes of the batches that `count` hosts are cut into. `1`, `25%`, `100%` say how many have it
    once a batch is done, a share rounded up; what is left over is the last batch.

    >>> cut(10, ["1", "25%", "100%"])
    (1, 2, 7)
    """
    ends = [0, *(min(count, _end(count, batch)) for batch in batches), count]
    rising = [0]
    for end in ends[1:]:
        rising.append(max(rising[-1], end))
    return tuple(after - before for before, after in pairwise(rising) if after > before)


def _end(count: int, batch: str) -> int:
    if batch.endswith("%"):
        return math.ceil(count * int(batch.removesuffix("%")) / 100)
    return int(batch)
