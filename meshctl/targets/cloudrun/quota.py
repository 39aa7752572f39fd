"""Reads what Google says of quotas, instances and requests into what a plan may know. Pure."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.period import Period
from meshctl.plan.pools import POOLS, Holder, Limit, Pool, size_of
from meshctl.targets.cloudrun.odd import Odd, text
from meshctl.targets.cloudrun.reading import revision_seen, service_seen, short
from meshctl.targets.cloudrun.template import template_of

Json = dict[str, Any]
FRESH_S = 120.0
"""How much older than the newest of all points one may be: an instance that is gone reports no
more, and those that live report every 60 s."""
_FIRST, _LAST = 1970, 9999
"""Years between which a moment can be reckoned with; whatever is outside them is no measurement."""
UNLIMITED = -1
"""The value of a quota without limit, as gcloud's help on quota preferences has it."""


def limits_of(infos: Iterable[Json], region: str) -> tuple[Limit, ...]:
    """The limit of every pool in a region; one that is not told of is unknown, never none."""
    known = {str(info.get("quotaId")): info for info in infos}
    return tuple(_limit(pool, known.get(pool.id), region) for pool in POOLS)


def unknown_limits(why: str) -> tuple[Limit, ...]:
    """Every limit where none could be read."""
    return tuple(Limit(pool, None, why=why) for pool in POOLS)


def _limit(pool: Pool, info: Json | None, region: str) -> Limit:
    if info is None:
        return Limit(pool, None, why=f"Cloud Quotas does not list {pool.id}")
    rows = Odd().rows("dimensionsInfos", info.get("dimensionsInfos"))
    row = _row_for(rows, region)
    if row is None:
        return Limit(pool, None, why=f"{pool.id} has no value for {region}")
    try:
        value = int(Odd().mapping("details", row.get("details")).get("value", 0))
    except (TypeError, ValueError):
        return Limit(pool, None, why=f"the value of {pool.id} cannot be read")
    if value == UNLIMITED:
        return Limit(pool, None, unlimited=True)
    return Limit(pool, max(0, value) // pool.scale)


def _row_for(rows: list[Json], region: str) -> Json | None:
    """The row of the region, else one for regions without a row of their own, rather one that
    names this region among its places; the documentation of DimensionsInfo."""
    own = [row for row in rows if _region(row) == region]
    rest = [row for row in rows if _region(row) is None]
    named = [row for row in rest if region in (row.get("applicableLocations") or ())]
    return next(iter((*own, *named, *rest)), None)


def _region(row: Json) -> str | None:
    region = Odd().mapping("dimensions", row.get("dimensions")).get("region")
    return region if region is None else str(region)


@dataclass(frozen=True)
class Point:
    """One number of one revision, at the end of the period it is about."""

    of: tuple[str, str]
    at: datetime.datetime
    value: float


Of = tuple[str, str]
"""A service and one of its revisions."""


def running_of(series: Iterable[Json]) -> dict[Of, int]:
    """Instances by revision, from a gauge; every state counts, for each holds its place."""
    points = [point for row in series for point in _points(row)[:1]]
    newest = max((point.at for point in points), default=None)
    found: dict[Of, float] = {}
    for point in points:
        if newest and (newest - point.at).total_seconds() <= FRESH_S:
            found[point.of] = found.get(point.of, 0.0) + point.value
    return {of: math.ceil(value) for of, value in found.items()}


def asked_of(series: Iterable[Json], period_s: int) -> dict[Of, Period]:
    """By revision, the newest period of `period_s` seconds in which it was asked anything: a sum
    carries the end of its period, which is no moment at which anybody asked."""
    newest: dict[Of, datetime.datetime] = {}
    for row in series:
        for point in _points(row):
            if point.value > 0:
                newest[point.of] = max(point.at, newest.get(point.of, point.at))
    before = datetime.timedelta(seconds=period_s)
    return {of: Period(since=_moment(at - before), until=_moment(at)) for of, at in newest.items()}


def _moment(at: datetime.datetime) -> str:
    return at.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _points(row: Json) -> list[Point]:
    """The legible points of a series, the newest first, as the API sends them."""
    odd = Odd()
    labels = odd.mapping("labels", odd.mapping("resource", row.get("resource")).get("labels"))
    service, revision = labels.get("service_name"), labels.get("revision_name")
    if not isinstance(service, str) or not isinstance(revision, str):
        return []
    read = [_point((service, revision), point) for point in odd.rows("points", row.get("points"))]
    return sorted((point for point in read if point), key=lambda point: point.at, reverse=True)


def _point(of: Of, point: Json) -> Point | None:
    odd = Odd()
    end = odd.mapping("interval", point.get("interval")).get("endTime")
    value = odd.mapping("value", point.get("value"))
    try:
        at = datetime.datetime.fromisoformat(end) if isinstance(end, str) else None
        number = float(value.get("int64Value") or value.get("doubleValue") or 0)
    except (TypeError, ValueError):
        return None
    if at is None or at.tzinfo is None or not _FIRST <= at.year < _LAST or not 0 <= number < 1e9:
        return None
    return Point(of, at, number)


def service_holders(services: Iterable[Json], running: Mapping[Of, int] | None) -> list[Holder]:
    """One holder a service, sized by its newest template: enough to see whether a pool is full."""
    return [_whole(service, running) for service in services if _named(service)]


def _named(service: Json) -> bool:
    return bool(Odd().read("", service.get("name"), text, ""))


def _whole(service: Json, running: Mapping[Of, int] | None) -> Holder:
    template = template_of(Odd().mapping("template", service.get("template")))
    seen = service_seen(service, [], None)
    runs = [count for (name, _), count in (running or {}).items() if name == seen.name]
    return Holder(
        service=seen.name,
        revision="",
        size=size_of(template),
        warm=max(seen.scaling.min, template.min_instances),
        max=_smaller(template.max_instances, seen.scaling.max),
        running=None if running is None else sum(runs),
        created=str(service.get("createTime") or ""),
    )


def _smaller(template: int, service: int | None) -> int:
    return min(template, service) if service else template


def revision_holders(
    service: Json,
    revisions: list[Json],
    running: Mapping[Of, int] | None,
    asked: Mapping[Of, Period] | None,
) -> list[Holder]:
    """One holder for each revision that can be reached, is kept warm, or runs all the same."""
    seen = service_seen(service, [], None)
    shares = _shares(seen)
    listed = {seen.resolve(row.revision) for row in seen.effective}
    rows = [revision_seen(revision) for revision in revisions]
    return [
        _one(service, seen, row, shares.get(row.name, 0), running, asked)
        for row in rows
        if row.name in listed or (running or {}).get((seen.name, row.name))
    ]


def _one(
    service: Json,
    seen: ServiceSeen,
    row: Revision,
    share: int,
    running: Mapping[Of, int] | None,
    asked: Mapping[Of, Period] | None,
) -> Holder:
    listed = any(seen.resolve(r.revision) == row.name for r in seen.effective)
    most = _smaller(row.template.max_instances, seen.scaling.max)
    own = row.template.min_instances if listed else 0
    return Holder(
        service=seen.name,
        revision=row.name,
        size=size_of(row.template),
        warm=min(max(own, share), most),
        max=most,
        running=None if running is None else running.get((seen.name, row.name), 0),
        asked=(asked or {}).get((seen.name, row.name)),
        created=row.created or str(service.get("createTime") or ""),
    )


def _shares(seen: ServiceSeen) -> dict[str, int]:
    """The minimum of the service by revision: by percent, what is left over to the first ones
    in the list; facts/cloud-run section 3."""
    rows = [(seen.resolve(r.revision) or "", r.percent) for r in seen.effective if r.percent]
    shares = {name: seen.scaling.min * percent // 100 for name, percent in rows}
    left = seen.scaling.min - sum(shares.values())
    for name, _ in rows[: max(0, left)]:
        shares[name] += 1
    return shares


def service_of(revision: Json) -> str:
    """Which service a revision belongs to, by its full name or its own word."""
    name = Odd().read("", revision.get("name"), text, "")
    parent = name.rpartition("/revisions/")[0]
    return short(parent) or short(str(revision.get("service") or ""))
