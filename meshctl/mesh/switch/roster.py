"""The backends that a front knows: which may come, and which may go. Pure."""

from __future__ import annotations

from dataclasses import replace

from meshctl.mesh.switch.events import Denied, Remembered
from meshctl.mesh.switch.gate import Gate
from meshctl.spec.switch import MOST_BACKENDS, Backend


def find(kept: Remembered, name: str | None) -> Backend | None:
    """The backend of that name."""
    return next((backend for backend in kept.backends if backend.name == name), None)


def with_added(kept: Remembered, gate: Gate, backend: Backend) -> Remembered | Denied:
    """With one more, or with one that serves nobody replaced; what is there already stays."""
    if find(kept, backend.name) not in (None, backend) and _in_use(kept, gate, backend.name):
        return _serves(backend.name, "give the new one another name")
    others = [other for other in kept.backends if other.name != backend.name]
    if len(others) >= MOST_BACKENDS:
        return Denied(409, "too_many", f"{MOST_BACKENDS} backends are known; remove one first")
    ordered = sorted([*others, backend], key=lambda each: each.name)
    return replace(kept, backends=tuple(ordered))


def with_removed(kept: Remembered, gate: Gate, name: str) -> Remembered | Denied:
    """Without one, which serves nobody."""
    if find(kept, name) is None:
        return unknown(name)
    if _in_use(kept, gate, name):
        return _serves(name, "switch to another one and drain it first")
    return replace(kept, backends=tuple(each for each in kept.backends if each.name != name))


def unknown(name: str) -> Denied:
    """Nobody has that name."""
    return Denied(404, "unknown_backend", f"no backend named {name!r}")


def _in_use(kept: Remembered, gate: Gate, name: str) -> bool:
    return name == kept.active or gate.in_flight(name) > 0


def _serves(name: str, instead: str) -> Denied:
    return Denied(409, "in_use", f"{name} serves: {instead}")
