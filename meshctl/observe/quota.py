"""Gathers what is known of the quota of a region: limits, who holds how much, and who is stale."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from meshctl.errors import MeshctlError
from meshctl.outside.clock import rfc3339
from meshctl.outside.cloudrun import CloudRunApi
from meshctl.outside.monitoring import INSTANCES, REQUESTS, MonitoringApi, Series
from meshctl.outside.quotas import QuotasApi
from meshctl.outside.retries import Patience
from meshctl.plan.period import Period
from meshctl.plan.pools import Holder, Limit, QuotaSeen
from meshctl.quantities import show_seconds
from meshctl.targets.cloudrun.quota import (
    Of,
    asked_of,
    limits_of,
    revision_holders,
    running_of,
    service_holders,
    service_of,
    unknown_limits,
)

Json = dict[str, Any]
T = TypeVar("T")
RUNNING = Series(INSTANCES, window_s=300.0)
"""Five minutes: a sample a minute, visible three minutes late at worst."""
HOUR_S, DAY_S, WEEK_S = 3600, 86400, 7 * 86400
ALL_SERVICES = "-"
"""Stands for every service where revisions are listed; facts/cloud-run section 8."""


@dataclass(frozen=True)
class Doors:
    """What a reading asks; all of them of one project and region."""

    run: CloudRunApi
    quotas: QuotasApi
    monitoring: MonitoringApi
    patience: Patience


def quota_seen(doors: Doors, now: datetime.datetime) -> QuotaSeen:
    """What a plan must know, in three calls. What is closed to us is unknown, with the reason."""
    services, why = _tried(doors, doors.run.list_services)
    if services is None:  # who holds what is unknown then, and so is what is free
        cloud = doors.run.cloud
        return QuotaSeen(cloud.project, cloud.region, unknown_limits(why), (), None, why, why)
    running, why = _running(doors, now)
    return _seen(doors, tuple(service_holders(services, running)), running, why, "not asked")


def quota_report(doors: Doors, now: datetime.datetime, window_s: float) -> QuotaSeen:
    """The same revision by revision, with the last request of each in the last `window_s`.

    Raises the error of Cloud Run itself: without its services there is nothing to show.
    """
    services = doors.patience.read(doors.run.list_services)
    revisions = _by_service(doors.patience.read(lambda: doors.run.list_revisions(ALL_SERVICES)))
    running, why_running = _running(doors, now)
    asked, why_traffic = _tried(doors, lambda: last_requests(doors.monitoring, now, window_s))
    holders = [
        holder
        for service in services
        for holder in revision_holders(
            service, revisions.get(service_of_name(service), []), running, asked
        )
    ]
    return _seen(doors, tuple(holders), running, why_running, why_traffic)


def last_requests(
    monitoring: MonitoringApi, now: datetime.datetime, window_s: float
) -> dict[Of, Period]:
    """When each revision was last asked in the last `window_s`: to the hour, or to the day where
    the window is longer than a week. Raises what the door raises."""
    period_s = HOUR_S if window_s <= WEEK_S else DAY_S
    series = Series(REQUESTS, window_s, period_s, "ALIGN_SUM")
    return asked_of(monitoring.time_series(series, now), period_s)


def service_of_name(service: Json) -> str:
    """The short name of a service."""
    return str(service.get("name", "")).rpartition("/")[2]


def _by_service(revisions: list[Json]) -> dict[str, list[Json]]:
    ordered = sorted(revisions, key=service_of)
    return {name: list(group) for name, group in groupby(ordered, key=service_of)}


def _seen(
    doors: Doors,
    holders: tuple[Holder, ...],
    running: Mapping[Of, int] | None,
    why_running: str,
    why_traffic: str,
) -> QuotaSeen:
    cloud = doors.run.cloud
    return QuotaSeen(
        project=cloud.project,
        region=cloud.region,
        limits=_limits(doors),
        holders=holders,
        running=running,
        why_running=why_running,
        why_traffic=why_traffic,
    )


def _limits(doors: Doors) -> tuple[Limit, ...]:
    infos, why = _tried(doors, doors.quotas.list_infos)
    return unknown_limits(why) if infos is None else limits_of(infos, doors.run.cloud.region)


def _running(doors: Doors, now: datetime.datetime) -> tuple[dict[Of, int] | None, str]:
    return _tried(doors, lambda: running_of(doors.monitoring.time_series(RUNNING, now)))


def _tried(doors: Doors, read: Callable[[], T]) -> tuple[T | None, str]:
    """What was read, or why it could not be: an API that is off or closed hides only itself."""
    try:
        return doors.patience.read(read), ""
    except MeshctlError as error:
        return None, " ".join(error.message.split())


@dataclass(frozen=True)
class Holding:
    """A holder, its key in the fleet file (None: unknown there), and why it is stale, if it is."""

    holder: Holder
    key: str | None
    stale: str = ""


@dataclass(frozen=True)
class Rule:
    """When a service counts as stale; `since` is the beginning of the window."""

    window_s: float
    since: str

    @classmethod
    def of(cls, now: datetime.datetime, window_s: float) -> Rule:
        return cls(window_s, rfc3339(now - datetime.timedelta(seconds=window_s)))

    def __str__(self) -> str:
        return f"stale: asked by nobody for {self.days}, and older than that"

    @property
    def days(self) -> str:
        days = self.window_s / 86400
        return f"{days:g}d" if days >= 1 else show_seconds(self.window_s)


def holdings(seen: QuotaSeen, names: Mapping[str, str], rule: Rule) -> tuple[Holding, ...]:
    """Every holder with what is to be thought of it; `names` are the keys by Cloud Run id."""
    return tuple(
        Holding(holder, names.get(holder.service), _stale(seen, holder, names, rule))
        for holder in sorted(seen.holders, key=lambda h: (-h.holds, h.service, h.revision))
    )


def _stale(seen: QuotaSeen, holder: Holder, names: Mapping[str, str], rule: Rule) -> str:
    service = [other for other in seen.holders if other.service == holder.service]
    asked = any(other.asked for other in service)
    if not any(other.size.gpu or other.holds for other in service):
        return ""  # it holds nothing that anybody is short of
    old = all(other.created and other.created < rule.since for other in service)
    if asked or seen.why_traffic or not old:
        return ""  # what is not known to be unused is not called stale: `gc` does not either
    stranger = "" if holder.service in names else "not in the fleet file, "
    return f"{stranger}asked by nobody for {rule.days}"
