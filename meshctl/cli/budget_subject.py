"""Finds out what a budget is about: a service with its flags and card, or a payload on a card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from meshctl.budget.answer import Answer, Question, answer
from meshctl.budget.beside import neighbours_on
from meshctl.budget.card import Card, card_of_gpu, card_of_service, card_of_target
from meshctl.budget.dtypes import Dtype
from meshctl.budget.flags import SERVING
from meshctl.budget.settings import VERSION, Neighbour
from meshctl.budget.tenants import Tenant, payloads_with_header, tenants_of
from meshctl.cli.headers import reading
from meshctl.cli.pairs import pairs, several_targets
from meshctl.cli.payload import FORMS, doors_of
from meshctl.cli.world import World
from meshctl.errors import UsageError
from meshctl.payloads.inspect import Inspection, Wish, inspect
from meshctl.payloads.locate import has_scheme, locate
from meshctl.rollout.headers import weighed
from meshctl.spec.model import CloudRunTarget, Fleet
from meshctl.spec.near import near

Asked = dict[str, Any]
"""The options of the command by their names; None where they were left out."""


def answer_about(world: World, what: str, asked: Asked) -> Answer:
    """Raises UsageError for what is neither service, payload nor file, and where no card is
    named."""
    if asked["--on"] and asked["--gpu"]:
        raise UsageError("--on and --gpu do not go together", hint="name the target, or the card")
    if not _is_file(what) and world.file.exists():
        fleet = world.fleet()
        if what in fleet.services:
            return _service(world, fleet, what, asked)
        if what in fleet.payloads:
            return _payload(world, fleet, what, asked)
        known = [*fleet.services, *fleet.payloads]
        raise UsageError(
            f"{what!r} is no service, no payload and no file", place=str(world.file),
            hint=f"{near(what, known)}; or give {FORMS}",
        )  # fmt: skip
    if not _is_file(what) and not Path(what).exists():
        raise UsageError(
            f"there is no fleet file, and {what} is no file", place=str(world.file),
            hint=f"name the fleet file with -f, or give {FORMS.rpartition(', or')[0]}",
        )  # fmt: skip
    return _file(world, what, asked)


def _is_file(what: str) -> bool:
    """A name of the fleet comes before a file of that name, unless it ends as models do."""
    ends = what.lower().endswith((".gguf", ".safetensors", ".json"))
    return has_scheme(what) or "/" in what or (ends and Path(what).is_file())


def _service(world: World, fleet: Fleet, key: str, asked: Asked) -> Answer:
    if asked["--engine"]:
        raise UsageError("--engine is for payloads", hint="a service's models name their engine")
    target = _target(fleet, key, asked["--on"])
    card = (card_of_gpu(asked["--gpu"]) if asked["--gpu"] else
            card_of_target(fleet, target) if target not in fleet.services[key].target else
            card_of_service(fleet, fleet.services[key], target))  # fmt: skip
    known = reading(world, fleet)(_needed(fleet, [key], target if card.shared else None))
    tenants = tenants_of(fleet, key, known)
    if not tenants:
        raise UsageError(
            f"{key} loads no payload, so there is nothing to work out",
            place=fleet.place(f"services.{key}.models"), hint="name the `payload:` of its models",
        )  # fmt: skip
    beside = neighbours_on(fleet, target, card, known, tenants, {key})
    cloud = isinstance(fleet.targets[target], CloudRunTarget) and not asked["--gpu"]
    only = _chosen(tenants, key, asked["--model"])
    return answer(key, tenants, card, beside, _question(asked), only=only, cloud=cloud)


def _target(fleet: Fleet, key: str, on: str | None) -> str:
    if on is not None:
        return _known_target(fleet, on)
    found = pairs(fleet, [key])
    if len(found) > 1:
        names = [target for _, target in found]
        raise UsageError(several_targets(key, names).message, hint="choose: --on TARGET")
    return found[0][1]


def _known_target(fleet: Fleet, name: str) -> str:
    if name not in fleet.targets:
        hint = near(name, fleet.targets)
        raise UsageError(f"no target named {name!r}", hint=hint, place=fleet.file)
    return name


def _needed(fleet: Fleet, keys: list[str], host: str | None) -> list[str]:
    """The payloads of these services, and of all that share their host."""
    homes = [name for name, service in fleet.services.items() if host in service.target]
    return sorted({p for key in {*keys, *homes} for p in payloads_with_header(fleet, key)})


def _chosen(tenants: tuple[Tenant, ...], key: str, name: str | None) -> str | None:
    names = [tenant.name for tenant in tenants]
    if name is not None and name not in names:
        raise UsageError(f"{key} has no model {name!r} with a payload", hint=near(name, names))
    return name


def _payload(world: World, fleet: Fleet, name: str, asked: Asked) -> Answer:
    users = {key for key, service in fleet.services.items()
             if any(model.payload == name for model in service.models.values())}  # fmt: skip
    target = _known_target(fleet, asked["--on"]) if asked["--on"] else None
    card = card_of_target(fleet, target) if target else _card(asked, name)
    known = reading(world, fleet)(sorted({name, *_needed(fleet, [], target)}))
    sizes = [file.bytes for file in fleet.payloads[name].files.values()]
    tenant = _tenant(name, known[name], sum(sizes), asked)
    beside = neighbours_on(fleet, target, card, known, [tenant], users) if target else []
    return _alone(name, tenant, card, beside, asked)


def _file(world: World, what: str, asked: Asked) -> Answer:
    if asked["--on"]:
        card = card_of_target(world.fleet(), _known_target(world.fleet(), asked["--on"]))
    else:
        card = _card(asked, what)
    located = locate(what, doors_of(world, None))
    world.output.progress(f"reading the header of {what}")
    found: Inspection = inspect(located.folder, located.name, Wish())
    tenant = _tenant(located.name, weighed(found), found.bytes or 0, asked)
    return _alone(what, tenant, card, [], asked)


def _alone(name: str, tenant: Tenant, card: Card, beside: list[Neighbour], asked: Asked) -> Answer:
    if asked["--model"]:
        raise UsageError("--model is for services", hint="leave it out")
    question = _question(asked)
    if question.sequences is None and tenant.engine == "llama-server":
        question = replace(question, sequences=1)
    return answer(name, [tenant], card, beside, question)


def _card(asked: Asked, what: str) -> Card:
    if not asked["--gpu"]:
        raise UsageError(
            f"on which card? {what} is a payload, and those run anywhere",
            hint="--gpu L4, or --on TARGET for a host of the fleet",
        )
    return card_of_gpu(asked["--gpu"])


def _tenant(name: str, weights: Any, size: int, asked: Asked) -> Tenant:
    """A payload as its usual engine takes it: GGUF llama-server, safetensors vLLM."""
    if isinstance(weights, str):
        return Tenant(name, asked["--engine"] or "llama-server", why=weights, file_bytes=size)
    usual = "llama-server" if weights.format == "gguf" else "vllm"
    engine = asked["--engine"] or usual
    if engine not in SERVING:
        raise UsageError(f"--engine: no family {engine!r}", hint=near(engine, SERVING))
    return Tenant(name, engine, weights=weights, file_bytes=size)


def _question(asked: Asked) -> Question:
    others = {"kv_dtype": asked["--kv-dtype"], "engine_version": asked["--engine-version"]}
    told = {key: value for key, value in others.items() if value is not None}
    _refuse_unknown(asked["--kv-dtype"], asked["--engine-version"])
    if "kv_dtype" in told:
        told |= {"kv_dtype_k": None, "kv_dtype_v": None}
    return Question(asked["--context"], asked["--sequences"], told)


def _refuse_unknown(kv_dtype: str | None, version: str | None) -> None:
    """What no engine knows is a slip of the hand, and no answer about a model."""
    if kv_dtype is not None and kv_dtype not in get_args(Dtype):
        hint = near(kv_dtype, get_args(Dtype))
        raise UsageError(f"--kv-dtype: no type {kv_dtype!r}", hint=hint)
    if version is not None and not VERSION.fullmatch(version):
        hint = "write it as the engine prints it, such as 0.19.1"
        raise UsageError(f"--engine-version: {version!r} is no version", hint=hint)
