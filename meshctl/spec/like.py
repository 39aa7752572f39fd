"""Gives services what they take over from another one through `like`. Pure.

A key that the service writes itself is its own; `env`, `resources` and `scaling` are joined entry
by entry, everything else is taken or replaced as a whole. `name` and `role` are never taken over,
and `default_model` only together with the models it chooses from. null removes.
"""

from __future__ import annotations

from collections.abc import Mapping

from meshctl.spec.model import Resources, Scaling, Service
from meshctl.spec.near import near
from meshctl.spec.scalars import shown
from meshctl.spec.tree import Complaint, Node, entries

JOINED = ("env", "resources", "scaling")
"""Keys whose entries are merged one by one."""
NEVER = ("name", "role", "like")
"""Keys that belong to one service alone."""
_FIELDS = {"resources": Resources.model_fields, "scaling": Scaling.model_fields}


def merge(tree: Node) -> tuple[Node, list[Complaint]]:
    """The tree with every service complete, and a complaint for each `like` that leads nowhere."""
    services = entries(entries(tree).get("services"))
    if not any("like" in entries(service) for service in services.values()):
        return tree, []
    complaints: list[Complaint] = []
    done: dict[str, Node] = {}
    for name in services:
        for each in _chain(name, services, done, complaints):
            base = done.get(_base(services[each]) or "")
            done[each] = _onto(base, services[each], each, complaints) if base else services[each]
    merged = entries(tree)["services"]._replace(value={name: done[name] for name in services})
    return tree._replace(value=entries(tree) | {"services": merged}), complaints


def _base(service: Node) -> str | None:
    like = entries(service).get("like")
    return like.value if like is not None and isinstance(like.value, str) else None


def _chain(
    name: str,
    services: Mapping[str, Node],
    done: Mapping[str, Node],
    complaints: list[Complaint],
) -> list[str]:
    """What has to be merged for `name`, the farthest first; a broken link ends it."""
    chain: list[str] = []
    current: str | None = name
    while current is not None and current not in done:
        if current in chain:
            ring = " -> ".join((*chain[chain.index(current) :], current))
            complaints.append(Complaint(f"services.{name}.like", f"goes in a ring: {ring}", _RING))
            break
        chain.append(current)
        base = _base(services[current])
        if base is not None and base not in services:
            message = f"no service named {shown(base)}"
            complaints.append(Complaint(f"services.{current}.like", message, near(base, services)))
            break
        current = base
    return chain[::-1]


_RING = "one of them must stand on its own"


def _onto(base: Node, service: Node, name: str, complaints: list[Complaint]) -> Node:
    own, taken = entries(service), entries(base)
    merged = {key: value for key, value in taken.items() if key not in NEVER}
    if "models" in own:
        merged.pop("default_model", None)
    for key, value in own.items():
        if key in JOINED and isinstance(value.value, dict):
            merged[key] = _joined(taken.get(key), value, f"services.{name}.{key}", complaints)
        elif value.value is None and key in Service.model_fields:
            merged.pop(key, None)
        else:
            merged[key] = value
    return service._replace(value=merged)


def _joined(base: Node | None, own: Node, path: str, complaints: list[Complaint]) -> Node:
    merged = dict(entries(base))
    known = _FIELDS.get(path.rpartition(".")[2], {})
    for key, value in entries(own).items():
        if value.value is not None:
            merged[key] = value
        elif key in merged or key in known:
            merged.pop(key, None)
        else:
            message = "null removes it, but it is not there"
            complaints.append(Complaint(f"{path}.{key}", message, near(key, entries(base))))
    return own._replace(value=merged)
