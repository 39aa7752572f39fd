"""How the list of what can go looks, before and after it went. Pure."""

from __future__ import annotations

from meshctl.plan.warmth import usd
from meshctl.ui.render.cost import source_lines
from meshctl.ui.render.text import minute, short, wrapped
from meshctl.ui.upkeep import Gc, LookedAt, StaleService, StaleTag

_SIGNS = {"removed": "✓ removed", "failed": "✗ failed"}


def gc_lines(document: Gc, width: int) -> list[str]:
    """What can go with the exact command, what stays and why, and how many of each there are."""
    lines: list[str] = []
    for tag in document.tags:
        lines += _tag(tag, width)
    for service in document.services:
        lines += _service(service, width)
    for note in document.notes:
        lines += wrapped(note, width, "! ")
    lines += [*wrapped(_looked_at(document.looked_at), width), _count(document)]
    return [*lines, *source_lines(document.prices, width)]


def _tag(tag: StaleTag, width: int) -> list[str]:
    head = f"{_sign(tag):<9}  {tag.service} on {tag.target}: tag {tag.tag}"
    facts = [f"{tag.revision}{f', release {tag.release}' if tag.release else ''}", tag.why]
    if tag.warm_instances:
        facts.append(f"keeps {tag.warm_instances} warm, {usd(tag.usd_per_hour)}")
    return _entry(head, facts, tag.command if tag.status == "found" else "", width)


def _service(service: StaleService, width: int) -> list[str]:
    head = f"{_sign(service):<9}  service {service.name} on {service.target}: {service.gpu}"
    idle = service.idle
    facts = [
        service.why,
        short(f"image {service.image}"),
        f"created {minute(service.created)}",
        f"keeps {idle.instances} warm, {usd(idle.usd_per_hour)}" if idle.instances else "sleeps",
    ]
    return _entry(head, facts, service.command if service.status == "found" else "", width)


def _sign(one: StaleTag | StaleService) -> str:
    return _SIGNS.get(one.status, one.verdict)


def _entry(head: str, facts: list[str], command: str, width: int) -> list[str]:
    lines = wrapped(head, width, "", " " * 11)
    for fact in facts:
        lines += wrapped(fact, width, " " * 11)
    return [*lines, f"{' ' * 11}$ {command}"] if command else lines


def _count(document: Gc) -> str:
    everything: list[StaleTag | StaleService] = [*document.tags, *document.services]
    removed = sum(one.status == "removed" for one in everything)
    stale = sum(one.verdict == "stale" and one.status == "found" for one in everything)
    kept = len(everything) - removed - stale
    return f"{stale} stale, {kept} kept, {removed} removed"


def _looked_at(count: LookedAt) -> str:
    """`looked at 3 services (1 more is not deployed), 7 revisions, 2 tags`."""
    services = _many(count.services, "service")
    if count.revisions is None or count.tags is None:
        return f"looked at {services} for those with a GPU that no fleet file declares"
    more = count.not_deployed
    missing = f" ({more} more {'is' if more == 1 else 'are'} not deployed)" if more else ""
    found = f"{_many(count.revisions, 'revision')}, {_many(count.tags, 'tag')}"
    return f"looked at {services}{missing}, {found}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
