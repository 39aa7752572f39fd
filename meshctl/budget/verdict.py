"""From conditions to one word: fits, tight, no or unknown, and which condition binds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from meshctl.budget.budget import Verdict
from meshctl.budget.ledger import Ledger
from meshctl.budget.settings import Settings
from meshctl.quantities import show_bytes

NOT_ENOUGH = round(0.135 * 2**30)
"""0.13 GiB free at boot was not enough: capturing graphs ran out of memory."""
ENOUGH = 2 * 2**30
"""About 2 GiB free survived its clients."""
ENOUGH_SHARE = 0.08
"""Of a small card: what vLLM's own default leaves free."""
CACHE_RAM = "cache_ram"
"""The condition that the prompts which are kept fit, too."""
Outcome = Literal["holds", "maybe", "fails", "unknown"]


@dataclass(frozen=True)
class Condition:
    """One thing that must hold, with the overhead low (`best`) and high (`worst`)."""

    name: str
    best: bool | None
    worst: bool | None
    text: str

    @property
    def outcome(self) -> Outcome:
        if self.best is None or self.worst is None:
            return "unknown"
        if not self.best:
            return "fails"
        return "holds" if self.worst else "maybe"


def enough(usable_bytes: int) -> int:
    """How much must be free for `fits`: 2 GiB, or 8 % of a card below 25 GiB."""
    return min(ENOUGH, int(usable_bytes * ENOUGH_SHARE))


def margin(usable_bytes: int, best_bytes: int, worst_bytes: int) -> Condition:
    """Memory that stays free on the device."""
    text = f"more than {NOT_ENOUGH:,} bytes must stay free, {enough(usable_bytes):,} for comfort"
    holds_best, holds_worst = best_bytes > NOT_ENOUGH, worst_bytes >= enough(usable_bytes)
    return Condition("device_bytes", holds_best, holds_worst, text)


def unknown_neighbours(settings: Settings) -> list[Condition]:
    """Of whom nobody can tell how much they take: with them nothing is sure to fit."""
    names = [one.name for one in settings.told.neighbours if one.high is None]
    text = f"what {', '.join(names)} takes at most is not known"
    return [Condition("neighbours", None, None, text)] if names else []


def kept_prompts(usable_bytes: int, worst_bytes: int, settings: Settings) -> list[Condition]:
    """Prompts that are kept are no need: a limit that is reached with use. What is left must
    still hold them, or an engine that started well is killed one day."""
    own = settings.told.prompts or 0
    limit = own + sum(one.prompts for one in settings.told.neighbours)
    if not limit:
        return []
    whose = "llama-server" if own == limit else "neighbours and it" if own else "neighbours"
    text = (
        f"{whose} may come to keep {show_bytes(limit)} of prompts in the same memory, more of them "
        "with every client: `--cache-ram MIB` is the limit"
    )
    holds = worst_bytes - limit >= enough(usable_bytes)
    if not holds:
        source = settings.told.origins.get("cache_ram_mib", ("default", ""))[0]
        settings.ledger.note("prompts", limit, source, text)
    return [Condition(CACHE_RAM, True, holds, text)]


def judge(conditions: Sequence[Condition], ledger: Ledger) -> tuple[Verdict, str | None]:
    """The verdict; how each condition came out is written down."""
    for one in conditions:
        ledger.note(f"condition.{one.name}", one.outcome, "assumed", one.text)
    return verdict_of(conditions)


def verdict_of(conditions: Sequence[Condition]) -> tuple[Verdict, str | None]:
    """The first that fails decides; then what is not known, then what may fail."""
    words: tuple[tuple[Outcome, Verdict], ...] = (
        ("fails", "no"), ("unknown", "unknown"), ("maybe", "tight"),
    )  # fmt: skip
    for outcome, word in words:
        for condition in conditions:
            if condition.outcome == outcome:
                return word, condition.name
    return "fits", None
