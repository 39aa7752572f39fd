"""The models that a service loads: the payload, the flags and the turn of each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from meshctl.budget.flags import SERVING, Asked, asked_of
from meshctl.budget.weights import Weights
from meshctl.engines.known import ENGINES
from meshctl.spec.model import Fleet, Model, Payload, Service

Known = Mapping[str, "Weights | str"]
"""By payload: what its header says, or why that is not known."""
_BESIDE = ("mmproj",)
"""Files that the mesh hands to the engine beside the model; facts/budget 1.3."""


@dataclass(frozen=True)
class Tenant:
    """One model that wants memory, and how it is served.

    `why` says why nothing can be worked out. `file_bytes` are those of its payload, `beside_bytes`
    those of its projector. Models of one `group` take turns, but for those that share one of
    `sets` and for `pinned` ones, which are always there.
    """

    name: str
    engine: str
    asked: Asked = field(default_factory=Asked)
    weights: Weights | None = None
    why: str = ""
    file_bytes: int = 0
    beside_bytes: int = 0
    group: str = ""
    sets: frozenset[str] = frozenset()
    pinned: bool = False


def tenants_of(fleet: Fleet, key: str, known: Known) -> tuple[Tenant, ...]:
    """Every model of a service that is loaded from a payload, in the order of the fleet file."""
    service = fleet.services[key]
    return tuple(
        _tenant(fleet.payloads[model.payload], known, name, model, service)
        for name, model in service.models.items()
        if model.payload
    )


def payloads_with_header(fleet: Fleet, key: str) -> list[str]:
    """The payloads of a service whose files begin with a header that somebody could read."""
    service = fleet.services[key]
    names = {
        model.payload
        for model in service.models.values()
        if model.payload and model.engine in SERVING and has_header(fleet.payloads[model.payload])
    }
    return sorted(names)


def has_header(payload: Payload) -> bool:
    """Whether its format has one, and its files can be read one by one."""
    if payload.format == "opaque" or payload.source.startswith("image:"):
        return False
    return bool(payload.format) or any(
        name.lower().endswith((".gguf", ".safetensors")) for name in payload.files
    )


def _tenant(payload: Payload, known: Known, name: str, model: Model, service: Service) -> Tenant:
    assert model.payload is not None, "only such models are asked about"
    found = known.get(model.payload, "its header was not read")
    sizes = {path: file.bytes for path, file in payload.files.items()}
    weights = found if isinstance(found, Weights) else None
    serving = SERVING.get(model.engine)
    why = "" if weights else f"payload {model.payload}: {found}"
    asked = Asked()
    if serving is None:
        why = f"what an engine of the family {model.engine} keeps beside its weights is not known"
    else:
        argv, env = _command(model, service)
        asked = asked_of(serving, argv, env, len(weights.by_layer) if weights else 0)
    return Tenant(
        name=name,
        engine=model.engine,
        asked=asked,
        weights=weights,
        why=why,
        file_bytes=sum(sizes.values()),
        beside_bytes=sum(_projectors(sizes)) if _is_mesh(service) else 0,
        group=model.group,
        sets=frozenset(model.sets),
        pinned=model.pinned,
    )


def _projectors(sizes: Mapping[str, int]) -> Iterable[int]:
    return (size for path, size in sizes.items() if path.rpartition("/")[2].startswith(_BESIDE))


def _is_mesh(service: Service) -> bool:
    return "mesh" in service.args


def _command(model: Model, service: Service) -> tuple[list[str], dict[str, str]]:
    """The flags that reach the engine: the mesh's own, the model's command, or the service's."""
    env = {name: value for name, value in service.env.items() if isinstance(value, str)}
    if not _is_mesh(service):
        return [*service.command, *service.args], env
    env |= model.env
    if model.command:
        values = {"{context}": str(model.context or ""), "{parallel}": str(model.parallel)}
        return [values.get(part, part) for part in model.command], env
    engine = ENGINES[model.engine]
    assert engine.flags is not None, "families without flags have no serving shape either"
    argv = [engine.flags.parallel, str(model.parallel)]
    if model.context is not None:
        tokens = model.context * (model.parallel if engine.total_context else 1)
        argv += [engine.flags.context, str(tokens)]
    return argv, env
