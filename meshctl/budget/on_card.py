"""One model on one card: a geometry out of header, flags and card, and its budget. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from meshctl.budget.beyond import with_beyond
from meshctl.budget.boot_recall import recalled
from meshctl.budget.budget import Budget
from meshctl.budget.cache import NoContext
from meshctl.budget.card import Card
from meshctl.budget.keys import BadKey
from meshctl.budget.ledger import Line, Source
from meshctl.budget.plan import plan_budget
from meshctl.budget.settings import Geometry, Neighbour, Told
from meshctl.budget.tenants import Tenant

ENGINES = {"llama-server": "llama.cpp", "vllm": "vllm"}
"""The fleet's words for the rules of a geometry file."""


CACHE_RAM_MIB = 8192
"""llama-server's default; facts/budget 2.4."""
CACHE_RAM_KEY = "cache_ram_mib"
"""A setting of the host's memory, and so no key of a geometry."""


@dataclass(frozen=True)
class Wanted:
    """What a person asks instead of what the flags say, by the key of the geometry."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    said: str = "asked for here"


AS_DECLARED = Wanted()


def budget_on(
    tenant: Tenant, card: Card, neighbours: Sequence[Neighbour] = (), wanted: Wanted = AS_DECLARED
) -> Budget:
    """The budget of a model on a card, beside these neighbours. Never raises: what cannot be
    worked out is unknown, with the reason."""
    if tenant.engine not in ENGINES or tenant.weights is None:
        return _unknown("engine" if tenant.engine not in ENGINES else "payload", tenant.why)
    if tenant.asked.wrong:
        return _unknown("args", f"not understood: {', '.join(tenant.asked.wrong)}")
    data, origins = _geometry(tenant, card, wanted)
    try:
        geometry = Geometry.model_validate(data)
        recall = recalled(tenant, card, geometry)
        told = Told({**origins, **recall.origins}, tuple(neighbours),
                    prompts_of(tenant, card, wanted), recall.measured)  # fmt: skip
        geometry = geometry.model_copy(update=dict(recall.changes))
        found = with_beyond(plan_budget(geometry, told), geometry)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        name = ".".join(map(str, detail["loc"])) or "args"
        return _unknown(name, f"{name}: {detail['msg'].removeprefix('Value error, ')}")
    except BadKey as bad:
        return _unknown("model", f"{bad.complaint.path}: {bad.complaint.message}")
    except NoContext:
        return _unknown("context", "neither the flags nor the header say how long a context is")
    found = _enough_cards(found, geometry, card)
    if recall.boot is not None:
        return recall.marked(found, tenant)  # flags leave nothing open that was measured
    return recall.marked(_with_flags(found, tenant, wanted), tenant)


def geometry_of(tenant: Tenant, card: Card, wanted: Wanted = AS_DECLARED) -> Geometry | None:
    """How a model is served there; None where flags or header cannot be read."""
    if tenant.engine not in ENGINES or tenant.weights is None or tenant.asked.wrong:
        return None
    try:
        return Geometry.model_validate(_geometry(tenant, card, wanted)[0])
    except ValidationError:
        return None


def devices_of(tenant: Tenant, card: Card) -> int:
    """How many cards a model spreads over; llama-server takes all it sees."""
    if tenant.engine == "vllm":
        return int(tenant.asked.settings.get("tp", "1"))
    return card.count


def prompts_of(tenant: Tenant, card: Card, wanted: Wanted = AS_DECLARED) -> int:
    """Bytes that llama-server may come to keep of prompts in host memory, where that is the card's
    own: a limit that is reached with use, and none of it is taken at the start."""
    if not card.unified or tenant.engine != "llama-server":
        return 0
    asked = {**tenant.asked.settings, **wanted.changes}
    return int(asked.get(CACHE_RAM_KEY, CACHE_RAM_MIB)) * 2**20


def _geometry(
    tenant: Tenant, card: Card, wanted: Wanted
) -> tuple[dict[str, Any], dict[str, tuple[Source, str]]]:
    weights = tenant.weights
    assert weights is not None, "asked before"
    written = tenant.asked.written
    origins: dict[str, tuple[Source, str]] = {
        key: ("config", f"`{flag[:60]}`") for key, flag in written.items()
    }
    flags = {key: value for key, value in tenant.asked.settings.items()
             if key in Geometry.model_fields}  # fmt: skip
    changes = {key: value for key, value in wanted.changes.items() if key != CACHE_RAM_KEY}
    settings: dict[str, Any] = {**flags, **changes}
    origins |= {key: ("config", wanted.said) for key in changes}
    devices = int(settings.get("tp") or devices_of(tenant, card))
    if "tp" not in settings and devices > 1:
        origins["tp"] = ("assumed", "llama-server spreads over every card it sees")
    settings["tp"] = devices
    size = weights.on_vllm(devices)
    if tenant.engine != "vllm":
        size = weights.on_llama(devices, host_is_device=card.unified)
    origins["weights_bytes"] = ("header", f"of {weights.bytes:,} in all its tensors")
    origins["device_bytes"] = (card.source, f"{card.name}: {card.text}")
    origins["reserved_bytes"] = ("config", "`reserved:` of the card")
    data = {
        "engine": ENGINES[tenant.engine],
        "gguf" if weights.format == "gguf" else "config": dict(weights.keys),
        "device_bytes": card.usable_bytes,
        "weights_bytes": size + tenant.beside_bytes,
        **settings,
    }
    if card.reserved_bytes:
        data["reserved_bytes"] = card.reserved_bytes
    return data, origins


def _enough_cards(found: Budget, geometry: Geometry, card: Card) -> Budget:
    wanted = geometry.tp or 1
    if wanted <= card.count:
        return found
    text = f"{wanted} devices are wanted, and there {'is' if card.count == 1 else 'are'} "
    line = Line("refused", "tp", "config", f"{text}{card.count} of {card.name}")
    return replace(found, verdict="no", binds="tp", why=(*found.why, line))


def _with_flags(found: Budget, tenant: Tenant, wanted: Wanted) -> Budget:
    """A verdict that a flag makes unsure says so; a flag nobody knows is named."""
    asked = tenant.asked
    lines = [Line("unread", flag, "config", "a flag that is not known here: nothing was made of it")
             for flag in asked.unread]  # fmt: skip
    verdict, binds = found.verdict, found.binds
    less = list(asked.lightened)
    if asked.shrinks and "context" not in wanted.changes:
        less.append(asked.shrinks)
    lines += [Line("less", None, "config", f"{text}: less is needed than is said") for text in less]
    lines += [Line("more", None, "config", f"{text}: that is not counted")
              for text in asked.burdened]  # fmt: skip
    if less and verdict == "no" and binds in ("device_bytes", "context", "sequences"):
        verdict, binds = "unknown", "context" if not asked.lightened else "args"
    if asked.burdened and verdict == "fits":
        verdict, binds = "tight", "args"
    return replace(found, verdict=verdict, binds=binds, why=(*found.why, *lines))


def _unknown(binds: str, why: str) -> Budget:
    return Budget("unknown", binds, (Line("unknown", binds, "config", why),))
