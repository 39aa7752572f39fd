"""What deploy and canary are asked for, and the plan that is made of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from meshctl.errors import UsageError
from meshctl.plan import budget
from meshctl.plan.make import make_deploy
from meshctl.plan.observed import ServiceSeen, TargetSeen
from meshctl.plan.pools import QuotaSeen
from meshctl.plan.quota import must_ask
from meshctl.plan.refusals import TAG_AND_NAME
from meshctl.plan.request import Request
from meshctl.plan.source import SourceSeen
from meshctl.plan.steps import Plan
from meshctl.rollout.ground import Ground
from meshctl.rollout.headers import Headers
from meshctl.rollout.known_peers import peers_of
from meshctl.rollout.look import known
from meshctl.spec.model import Fleet, PodmanTarget
from meshctl.state.builds import Built


@dataclass(frozen=True)
class Wish:
    """What deploy and canary are asked for beside the fleet."""

    fleet: Fleet
    built: Built | None
    announcer: str = ""
    take_traffic: bool = False
    tag: str | None = None
    keep: bool = False
    quota: Callable[[], QuotaSeen | None] = lambda: None
    headers: Callable[[list[str]], Headers | None] = lambda _: None
    source: Callable[[], SourceSeen | None] = lambda: None


def plan_deploy(ground: Ground, wish: Wish, seen: TargetSeen) -> Plan:
    """The plan that `deploy` would carry out on what was seen; nothing is locked or changed."""
    return planned(make_deploy, request_of(ground, wish), known(ground, seen), wish)


def planned(
    make: Callable[[Request, ServiceSeen | None], Plan],
    request: Request,
    seen: ServiceSeen | None,
    wish: Wish,
) -> Plan:
    """The quota is asked only when the plan without it would start something that it counts, and
    headers are read only when it would start an engine whose need they tell."""
    plan = make(request, seen)
    facts: dict[str, Any] = {}
    if must_ask(request, plan):
        facts["quota"] = wish.quota()
    if budget.must_ask(request, plan):
        facts["headers"] = wish.headers(budget.payloads_to_read(request))
    return make(replace(request, **facts), seen) if facts else plan


def request_of(ground: Ground, wish: Wish) -> Request:
    """What a plan for this wish is made from, as it is remembered now."""
    ledger = ground.ledger()
    peers = peers_of(ground, wish.fleet, ledger)
    return Request(
        fleet=wish.fleet,
        key=ground.key,
        target=ground.target.name,
        salt=ground.salt,
        built=wish.built,
        source=wish.source(),
        ledger=ledger,
        unit=_unit(ground, wish, peers),
        peers=peers,
        announcer=wish.announcer,
        take_traffic=wish.take_traffic,
        tag=wish.tag,
        keep=wish.keep,
    )


def _unit(ground: Ground, wish: Wish, peers: str) -> str:
    """The unit that the fleet wants on a host; of a region there is none."""
    if not isinstance(ground.place, PodmanTarget):
        return ""
    from meshctl.targets.podman.wanted import wanted_unit

    return wanted_unit(wish.fleet, ground.key, ground.place, wish.built, peers)


def refuse_tag(tag: str, service: str) -> None:
    """A tag becomes the first part of a host name; facts/cloud-run section 2."""
    room = TAG_AND_NAME - len(service)
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", tag) or len(tag) > room:
        raise UsageError(
            f"{tag!r} cannot be a tag of {service}",
            hint=f"lowercase letters, digits and hyphens, at most {room} characters: --tag v2",
        )
