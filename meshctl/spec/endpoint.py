"""The rules inside one service: models, rollout, and what its targets can do with it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal

from meshctl.spec import batteries
from meshctl.spec.hosts import check_host
from meshctl.spec.model import (
    FORMS,
    GROUP_NAME,
    CloudRunTarget,
    Model,
    PodmanTarget,
    Rollout,
    Service,
)
from meshctl.spec.near import near
from meshctl.spec.registry import MODEL_NAME, VARIABLE
from meshctl.spec.scalars import shown
from meshctl.spec.shape import check_shape
from meshctl.spec.tree import Complaint
from meshctl.spec.variables import check_env

HOST_ONLY = (
    "runtime",
    "ports",
    "devices",
    "mounts",
    "shm_size",
    "ulimits",
    "health",
    "front",
    "sweep",
    "rollout.batches",
    "rollout.max_failures",
)
CLOUD_ONLY = (
    "access",
    "timeout",
    "scaling",
    "account",
    "platform",
    "resources.gpu",
    "resources.zonal_redundancy",
    "rollout.steps",
)
_BATCH = re.compile(r"([1-9][0-9]{0,3})(%?)")


def check_endpoint(
    service: Service, targets: Mapping[str, CloudRunTarget | PodmanTarget]
) -> Iterator[Complaint]:
    """Every rule broken; paths begin at the service. Targets that are not known are passed over."""
    yield from _models(service)
    # A registry of another make, as `meshctl adopt` may find one, stays a plain variable.
    yield from check_env(service.env, free=() if service.models else (VARIABLE,))
    for name, model in service.models.items():
        yield from check_env(model.env, f"models.{name}.env")
    yield from _checks(service)
    yield from _steps(service.rollout)
    yield from _batches(service.rollout)
    yield from check_host(service)
    kinds = {targets[name].kind for name in service.target if name in targets}
    if "cloudrun" in kinds:
        yield from check_shape(service)
    if all(name in targets for name in service.target):
        yield from _other_place(service, kinds)


def _models(service: Service) -> Iterator[Complaint]:
    ids = tuple(service.models)
    if service.default_model is not None and service.default_model not in service.models:
        message = f"no model named {shown(service.default_model)} in this service"
        yield Complaint("default_model", message, near(service.default_model, ids))
    elif service.default_model is None and len(ids) > 1:
        message = f"default_model is required with {len(ids)} models"
        yield Complaint("models", message, f"one of: {', '.join(sorted(ids)[:12])}")
    for name, model in service.models.items() if "mesh" in service.args else ():
        yield from _command(model, name)
    for name, model in service.models.items():
        yield from _lane(model, name)
    yield from _model_names(service)
    yield from _aliases(service)


def _model_names(service: Service) -> Iterator[Complaint]:
    for name, model in service.models.items():
        paths = {name: f"models.{name}"} | {a: f"models.{name}.aliases" for a in model.aliases}
        for word, path in paths.items():
            if not re.fullmatch(MODEL_NAME, word):
                message = f"{shown(word)} cannot be sent as a model's name"
                yield Complaint(path, message, "1 to 200 letters, digits and . _ : / @ ~ -")


def _aliases(service: Service) -> Iterator[Complaint]:
    leads_to = {name: name for name in service.models}
    for name, model in service.models.items():
        for alias in model.aliases:
            if alias in leads_to:
                message = f"{shown(alias)} already leads to {leads_to[alias]}"
                yield Complaint(f"models.{name}.aliases", message, "one name, one model")
            leads_to.setdefault(alias, name)


def _checks(service: Service) -> Iterator[Complaint]:
    known = batteries.names()
    strange = [name for name in service.checks if name not in known]
    for name in strange:
        yield Complaint("checks", f"no battery or check is named {shown(name)}", near(name, known))
    if not strange and batteries.asks_nothing(service.checks):
        message = f"{list(service.checks)} asks nothing, so no release could prove itself"
        yield Complaint("checks", message, "write `checks: [contract]`")


def _command(model: Model, name: str) -> Iterator[Complaint]:
    """Only llama-server says which port it took; what the mesh starts else has to be told one."""
    if model.engine == "generic" and not any("{port}" in word for word in model.command):
        message = "the mesh has to tell a generic engine its port: the command must hold {port}"
        yield Complaint(f"models.{name}.command", message, "for example [serve, --port, '{port}']")


def _lane(model: Model, name: str) -> Iterator[Complaint]:
    """What the registry would refuse, said at its place."""
    for key, value in (("ttl", model.ttl), ("sets", model.sets)):
        if model.pinned and value:
            message = f"a pinned model is always loaded: {key} would mean nothing"
            yield Complaint(f"models.{name}.{key}", message, f"leave out {key}, or pinned")
    for word in model.sets:
        if not re.fullmatch(GROUP_NAME, word):
            yield Complaint(
                f"models.{name}.sets", f"{shown(word)} is no name of a set", FORMS[GROUP_NAME]
            )


def _steps(rollout: Rollout) -> Iterator[Complaint]:
    steps = rollout.steps
    rising = all(a < b for a, b in pairwise(steps))
    if not steps or not rising or steps[0] < 1 or steps[-1] != 100:
        message = f"{list(steps)} is no way to 100: percents from 1, rising, the last one 100"
        yield Complaint("rollout.steps", message, "for example [5, 100]")


def _batches(rollout: Rollout) -> Iterator[Complaint]:
    for index, batch in enumerate(rollout.batches):
        match = _BATCH.fullmatch(batch)
        if not match or (match[2] and int(match[1]) > 100):
            message = f"{shown(batch)} is neither a number of hosts from 1 nor a percent up to 100%"
            yield Complaint(f"rollout.batches.{index}", message, "for example [1, 25%, 100%]")


def _other_place(
    service: Service, kinds: set[Literal["cloudrun", "podman"]]
) -> Iterator[Complaint]:
    if "podman" not in kinds:
        for key in HOST_ONLY:
            if _is_set(service, key):
                message = "is for podman hosts, and no target of this service is one"
                yield Complaint(key, message, "leave it out")
    if "cloudrun" not in kinds:
        for key in CLOUD_ONLY:
            if _is_set(service, key):
                message = "is for Cloud Run, and no target of this service is there"
                yield Complaint(key, message, "leave it out; `key: null` where `like` brings it")


def _is_set(service: Service, key: str) -> bool:
    holder, _, inner = key.partition(".")
    if holder not in service.model_fields_set:
        return False
    return not inner or inner in getattr(service, holder).model_fields_set
