"""The plan of `env sync`: a deploy that changes nothing but the environment. Pure.

Image, models, resources, scaling and access stay as they are; what the fleet file says of those is
for `deploy`. The registry of models is part of the environment only for Cloud Run: it goes with the
image that holds the models, so it stays, too.
"""

from __future__ import annotations

from dataclasses import replace

from meshctl.plan.make import make_deploy
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.release import EnvSecret, Release, Template, release_of
from meshctl.plan.request import Request
from meshctl.plan.steps import Plan, Reason
from meshctl.plan.wanted import env_of, secrets_of
from meshctl.spec.model import Fleet, Service

STAYS = ("MESH_MODELS", "MESH_DEFAULT_MODEL")
"""Written from the models of a service, and rolled out together with them."""


def make_env_sync(request: Request, seen: ServiceSeen) -> Plan:
    """Stage, place, check, shift, check, retire, for the release that serves with another env."""
    main = seen.main
    if main is None:  # nothing serves: a deploy says so, and what to do
        return make_deploy(request, seen).model_copy(update={"verb": "env-sync"})
    release = _with_env(request, main.template)
    narrowed = replace(request, fleet=_as_it_is(request, seen), built=None, release=release)
    plan = make_deploy(narrowed, seen).model_copy(update={"verb": "env-sync"})
    if main.template.other and plan.steps:
        return plan.model_copy(update={"steps": (), "refused": (_strange(request),)})
    return plan


def _with_env(request: Request, live: Template) -> Release:
    declared = dict(env_of(request.fleet, request.service, request.peers))
    wanted = {name: value for name, value in declared.items() if name not in STAYS}
    wanted |= {name: value for name, value in live.env if name in STAYS}
    secrets: tuple[EnvSecret, ...] = secrets_of(request.service)
    return release_of(
        live.model_copy(update={"env": tuple(sorted(wanted.items())), "secrets": secrets})
    )


def _as_it_is(request: Request, seen: ServiceSeen) -> Fleet:
    """The fleet with this service as it stands, so that the plan has only the env to change."""
    service = request.service
    access = service.access if seen.public is None else "public" if seen.public else "private"
    scaling = service.scaling.model_copy(update={"min": seen.scaling.min})
    there: Service = service.model_copy(update={"models": {}, "scaling": scaling, "access": access})
    services = {**request.fleet.services, request.key: there}
    return request.fleet.model_copy(update={"services": services})


def _strange(request: Request) -> Reason:
    return Reason(
        message="the release that serves holds settings that meshctl never writes, and would lose "
        "them",
        hint=f"see platform.other in `meshctl plan {request.key}`; `meshctl deploy {request.key}` "
        "brings the service to the fleet file as a whole",
        place=f"{request.target}/{request.name}",
    )
