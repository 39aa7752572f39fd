"""What keeps instances warm, what changing that takes, and what it costs, in words. Pure."""

from __future__ import annotations

from meshctl.plan.acts import Acts
from meshctl.plan.cost import MONTH_H, Cost, Warm
from meshctl.plan.observed import ServiceScaling, ServiceSeen
from meshctl.plan.release import Release
from meshctl.plan.request import Request
from meshctl.plan.steps import SetScaling


def changed(seen: ServiceSeen, acts: Acts, release: Release) -> list[str]:
    """What a change of a minimum takes: none can be given to a revision that runs already."""
    notes = [
        f"minimum of the service {act.was.min} -> {act.to.min}: makes no revision; it holds at "
        "once, for whatever has traffic"
        for _, act in acts
        if isinstance(act, SetScaling)
    ]
    before = seen.main.template.min_instances if seen.main else 0
    after = release.template.min_instances
    if after != before:
        notes.append(
            f"minimum per revision {before} -> {after}: is a part of the release, so it makes a "
            "new revision; the one that runs cannot be changed"
        )
    return notes


def asked_per_revision(request: Request) -> list[str]:
    """What `min_per: revision` does that nobody expects of it."""
    count = request.service.scaling.revision_min
    if not count:
        return []
    return [
        f"min_per: revision keeps {_instances(count)} of every revision that has a tag or a row in "
        "the traffic, each billed by itself; `min_per: service` follows the traffic"
    ]


def candidates(key: str, name: str, cost: Cost | None) -> list[str]:
    """Every revision without traffic that is warm now, with what ends it."""
    return [
        f"revision {one.revision}{_tags(one)} gets no traffic, and its own minimum keeps "
        f"{_instances(one.instances)} warm, {usd(one.usd_per_hour)}: {_ends(key, name, one)}"
        for one in (cost.warm if cost else ())
    ]


def new_candidates(before: Cost | None, after: Cost | None) -> list[str]:
    """The same for those that a plan will leave behind."""
    known = {one.revision for one in (before.warm if before else ())}
    return [
        f"revision {one.revision}{_tags(one)} will keep {_instances(one.instances)} warm without "
        f"traffic, {usd(one.usd_per_hour)}, until its tag is gone"
        for one in (after.warm if after else ())
        if one.revision not in known
    ]


def by_others(scaling: ServiceScaling) -> list[str]:
    """What else the service says about instances; meshctl leaves it alone."""
    notes = []
    if scaling.max is not None:
        notes.append(
            f"the service itself allows at most {_instances(scaling.max)}, divided by traffic; "
            "meshctl did not write that and leaves it as it is"
        )
    if scaling.manual is not None:
        notes.append(
            f"the service runs {_instances(scaling.manual)} by hand (manual scaling): minimums do "
            "nothing until it is automatic again"
        )
    return notes


def usd(per_hour: float | None) -> str:
    """`USD 1.42/h (1,037 a month)`; None is `cost unknown`, never nothing."""
    if per_hour is None:
        return "cost unknown"
    return f"USD {per_hour:,.2f}/h ({per_hour * MONTH_H:,.0f} a month)"


def _instances(count: int) -> str:
    return f"{count} instance{'' if count == 1 else 's'}"


def _tags(one: Warm) -> str:
    return f" (tag {', '.join(one.tags)})" if one.tags else " (a row of 0 % in the traffic)"


def _ends(key: str, name: str, one: Warm) -> str:
    if one.tags:
        return f"`meshctl gc {key} {' '.join(f'--tag {tag}' for tag in one.tags)}` ends that"
    return f"`gcloud run services update-traffic {name} --to-revisions={one.revision}=0` ends that"
