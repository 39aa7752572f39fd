"""What somebody else changed in a service while we were at it, in sentences. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshctl.plan import traffic
from meshctl.plan.observed import ServiceSeen


@dataclass
class Meanwhile:
    """What one change of ours met on its way; `told` becomes its evidence and its refusal."""

    told: list[str] = field(default_factory=list)
    base: ServiceSeen | None = None
    lost: bool = False

    def conflict(self, base: ServiceSeen) -> None:
        """Somebody wrote since `base` was read. After a lost answer that may have been ourselves,
        and nobody is blamed."""
        self.base = None if self.lost else base

    def read(self, now: ServiceSeen) -> None:
        """The first reading after a conflict shows what it was about."""
        if self.base is not None:
            self.told.append(sentence(self.base, now))
        self.base = None

    def superseded(self, ours: ServiceSeen, now: ServiceSeen) -> None:
        """A newer generation than the one we wrote."""
        self.told.append(f"superseded right after it was written: {sentence(ours, now)}")


def sentence(before: ServiceSeen, after: ServiceSeen) -> str:
    """Who changed the service from one reading to the other, and what of it."""
    found = (
        *_traffic(before, after),
        *_tags(before, after),
        *_revisions(before, after),
        *_scaling(before, after),
    )
    what = "; ".join(found) or "nothing that a release or its traffic is made of"
    return f"{after.modifier or 'somebody else'} changed {after.name}: {what}"


def _traffic(before: ServiceSeen, after: ServiceSeen) -> list[str]:
    if traffic.same(before.traffic, after.traffic):
        return []
    return [f"traffic {traffic.shown(before.traffic)} -> {traffic.shown(after.traffic)}"]


def _tags(before: ServiceSeen, after: ServiceSeen) -> list[str]:
    old, new = traffic.tags(before.traffic), traffic.tags(after.traffic)
    differing = sorted(tag for tag in old.keys() | new.keys() if old.get(tag) != new.get(tag))
    return [f"tag {t} {old.get(t, '(none)')} -> {new.get(t, '(none)')}" for t in differing]


def _revisions(before: ServiceSeen, after: ServiceSeen) -> list[str]:
    """A new template is a new revision; facts/cloud-run section 1."""
    if before.latest_created == after.latest_created:
        return []
    return [f"its template, which made revision {after.latest_created}"]


def _scaling(before: ServiceSeen, after: ServiceSeen) -> list[str]:
    old, new = before.scaling, after.scaling
    pairs = (("minimum", old.min, new.min), ("maximum", old.max, new.max))
    return [
        f"{word} instances {_count(was)} -> {_count(is_)}" for word, was, is_ in pairs if was != is_
    ]


def _count(count: int | None) -> str:
    return "(none)" if count is None else str(count)
