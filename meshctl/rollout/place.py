"""Where a run was begun, and whether it would be taken up in the same place."""

from __future__ import annotations

from collections.abc import Mapping

from meshctl.errors import Refused
from meshctl.rollout.ground import Ground
from meshctl.spec.model import CloudRunTarget
from meshctl.state.journal import Journal


def same_place(journal: Journal, ground: Ground) -> None:
    """Refuse to go on, or back, with a run in another project or region than it was begun in: the
    fleet file may have been changed since. An emulator's URL may change. Raises Refused."""
    begun: Mapping[str, str] = journal.events[0].data.get("place") or {}
    keys = ("project", "region") if isinstance(ground.place, CloudRunTarget) else ("address",)
    now = tuple(str(getattr(ground.place, key)) for key in keys)
    then = tuple(begun.get(key, here) for key, here in zip(keys, now, strict=True))
    if then != now:
        raise Refused(
            f"run {journal.run} was begun on {'/'.join(then)}, the fleet file now says "
            f"{'/'.join(now)}",
            hint="use the fleet file it was begun with: -f FILE",
            place=f"{ground.target.name}/{ground.name}",
        )
