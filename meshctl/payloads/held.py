"""Finds what people mean by an item of the trash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meshctl.errors import UsageError
from meshctl.outside.disk import Seen
from meshctl.payloads.trash import Item, Place, Retirement, item_name, retirements, seen_in_trash


@dataclass(frozen=True)
class Held:
    """One file that was retired; `seen` is as it lies in the trash, None where it is not there."""

    retirement: Retirement
    item: Item
    seen: Seen | None

    @property
    def name(self) -> str:
        return item_name(self.retirement.name, self.item)


def held_in(place: Place) -> list[Held]:
    """Every file that some manifest tells of, the oldest retirement first."""
    return [
        Held(one, item, seen_in_trash(place, one.name, item))
        for one in retirements(place)
        for item in one.items
    ]


def named(held: Sequence[Held], texts: Sequence[str]) -> list[Held]:
    """Those that are meant: RETIREMENT, RETIREMENT/PATH, or a path or file name that only one has.
    Raises UsageError for a name of none, or of several."""
    found = [one for text in texts for one in _meant(held, text)]
    return list({one.name: one for one in found}.values())


def _meant(held: Sequence[Held], text: str) -> list[Held]:
    """A file that was retired more than once is the one that lies in the trash."""
    whole = [one for one in held if text in (one.name, one.retirement.name)]
    path = text.removeprefix("./")
    alike = [o for o in held if o.item.path == path or o.item.path.endswith(f"/{path}")]
    alike = [one for one in alike if one.seen] or alike[-1:]
    if not whole and len(alike) > 1:
        raise UsageError(
            f"{text!r} means several items of the trash",
            hint=f"name one of them: {', '.join(one.name for one in alike[:4])}",
        )
    if not whole and not alike:
        raise UsageError(
            f"nothing in the trash is named {text!r}",
            hint="see what is there: `meshctl payload purge --dry-run --at DIR`",
        )
    return whole or alike
