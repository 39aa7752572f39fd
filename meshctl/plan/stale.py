"""Which live services with a GPU are stale, and the plan that removes one of them. Pure.

Only a service that no fleet file declares is looked at. It is stale when it is known that nobody
asked it for a while; where that is not known the operator has to say so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from meshctl.plan.acts import numbered
from meshctl.plan.cost import Cost
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.period import Period
from meshctl.plan.release import Template
from meshctl.plan.steps import Plan, RemoveService
from meshctl.quantities import show_minute

Verdict = Literal["stale", "kept", "unknown"]


@dataclass(frozen=True)
class Asked:
    """What is known of the requests to a service since `since`: when the last one came, None where
    none did; `unknown` says why nobody can tell."""

    since: str
    last: Period | None = None
    unknown: str = ""


@dataclass(frozen=True)
class ServiceFound:
    """One live service that no fleet declares, and what is to be thought of it; `users` are the
    services of the fleet that know its address."""

    seen: ServiceSeen
    template: Template
    created: str | None
    asked: Asked
    cost: Cost
    users: tuple[str, ...] = ()
    verdict: Verdict = "unknown"
    why: str = ""


def judged(found: ServiceFound, *, said_stale: bool) -> tuple[Verdict, str]:
    """stale, kept or unknown, and why; `said_stale` is the operator's word, which counts only where
    nothing is known."""
    asked = found.asked
    if named := ", ".join(sorted(found.users)):
        return "kept", f"its address stands in the environment of {named}"
    if asked.last is not None:
        return "kept", f"was asked {asked.last}"
    if asked.unknown:
        doubt = f"in no fleet file; whether anybody asks it is unknown ({asked.unknown})"
    elif not found.created or found.created >= asked.since:
        made = show_minute(found.created) if found.created else "an unknown time"
        doubt = f"in no fleet file; asked by nobody, but made only at {made}"
    else:
        return "stale", f"in no fleet file; asked by nobody since {show_minute(asked.since)}"
    return ("stale", f"{doubt}; said to be stale") if said_stale else ("unknown", doubt)


def way_out(found: ServiceFound) -> str:
    """What helps where a service stays, for the first of the reasons why it does."""
    if found.verdict == "unknown":
        name = found.seen.name
        return f"if you know that nobody asks it: `meshctl gc {name} --services --stale`"
    if found.users:
        return "take it out of there first; a peer goes out with `meshctl peer remove PEER`"
    return "wait, or say how long is long enough: --stale-after 1h"


def users_of(service: ServiceSeen, fleet: Iterable[ServiceSeen]) -> list[str]:
    """The services whose environment names the address of this one, as peers of a mesh."""
    hosts = [host for host in (service.url, f"//{service.name}-") if host]
    return [
        other.name
        for other in fleet
        if other.main
        and any(host in text for text in other.main.template.environment.values() for host in hosts)
    ]


def removal_plan(found: ServiceFound, target: str) -> Plan:
    """Remove the service as it was seen, and as nothing else."""
    seen = found.seen
    act = RemoveService(etag=seen.etag, generation=seen.generation)
    return Plan(
        service=seen.name,
        target=target,
        name=seen.name,
        verb="gc",
        strategy="settings",
        steps=numbered([(f"remove service {seen.name} with all its revisions, for good", act)]),
        from_release=seen.main.release if seen.main else None,
    )


def command_of(name: str, verdict: Verdict) -> str:
    """What removes exactly this one; nothing for what is kept."""
    if verdict == "kept":
        return ""
    return f"meshctl gc {name} --services{'' if verdict == 'stale' else ' --stale'} --yes"
