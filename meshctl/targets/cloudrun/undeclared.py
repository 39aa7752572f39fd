"""Reads a live service that no fleet declares: its shape, its age, what it costs. Pure."""

from __future__ import annotations

from typing import Any

from meshctl.plan.cost import seen_cost
from meshctl.plan.prices import Prices
from meshctl.plan.release import Template
from meshctl.plan.stale import Asked, ServiceFound
from meshctl.targets.cloudrun.odd import Odd, text
from meshctl.targets.cloudrun.reading import service_seen
from meshctl.targets.cloudrun.template import template_of

Json = dict[str, Any]


def template_in(service: Json) -> Template:
    """The template that the service would make its next revision of."""
    return template_of(Odd().mapping("template", service.get("template")))


def service_found(
    service: Json, revisions: list[Json], asked: Asked, prices: Prices
) -> ServiceFound:
    """The service as it was listed, with its revisions."""
    seen = service_seen(service, revisions, None)
    return ServiceFound(
        seen=seen,
        template=seen.main.template if seen.main else template_in(service),
        created=Odd().read("createTime", service.get("createTime"), text, "") or None,
        asked=asked,
        cost=seen_cost(seen, prices),
    )
