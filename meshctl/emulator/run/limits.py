"""What a service may not have more of, and what goes first when it has (facts s2, s9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meshctl.emulator.failures import ApiError
from meshctl.emulator.run.records import PENDING, Service

Rows = list[dict[str, Any]]


def one_more_service(services: Iterable[Service], new: Service, most: int) -> None:
    """facts s9: so many per project and region; the error's wording is not known."""
    beside = sum((s.project, s.location) == (new.project, new.location) for s in services)
    if beside >= most:
        raise ApiError(
            "RESOURCE_EXHAUSTED",
            f"Quota exceeded for total allowable count of services per project per region: {most}.",
        )


def surplus_revisions(service: Service, kept: int) -> list[str]:
    """facts s9: past the limit the oldest that cannot be addressed are deleted."""
    excess = len(service.revisions) - kept
    if excess <= 0:
        return []
    rows = [*service.statuses, *service.spec["traffic"]]
    addressed = {service.latest_created, service.latest_ready, *(r.get("revision") for r in rows)}
    oldest = sorted(service.revisions.values(), key=lambda revision: revision.created)
    free = [r.name for r in oldest if r.name not in addressed and r.state != PENDING]
    return free[:excess]


def without_surplus_tags(
    services: Iterable[Service], service: Service, rows: Rows, most: int
) -> Rows:
    """facts s2: past the limit of a project and region, tags without percent of the service
    being tagged are deleted, oldest first; a tag is as old as its place in the list."""
    others = [s for s in services if s.name != service.name and s.project == service.project]
    there = sum(_tags(s.spec["traffic"]) for s in others if s.location == service.location)
    excess = there + _tags(rows) - most
    kept = []
    for row in rows:
        if excess > 0 and row.get("tag") and not row.get("percent"):
            excess -= 1
        else:
            kept.append(row)
    return kept


def _tags(rows: Rows) -> int:
    return sum(1 for row in rows if row.get("tag"))
