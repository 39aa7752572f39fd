"""Compares two environments key by key, and knows which keys should differ. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meshctl.plan.release import Template
from meshctl.spec.model import Frozen

OWN_RELEASE = {"MESH_RELEASE": "each release carries its own id"}
OWN_SERVICE = {
    "MESH_MODELS": "each service has its own models",
    "MESH_DEFAULT_MODEL": "each service has its own models",
    "MESH_FEDERATION_PEERS": "a coordinator announces peers, a peer does not",
}
"""Keys that differ between two services by what they are for; between two releases of one service
a difference in them is a difference."""
State = Literal["same", "differs", "only-a", "only-b"]


class Value(Frozen):
    """What a variable holds; a reference says where a secret is, and not what."""

    text: str
    reference: bool = False


class Key(Frozen):
    """One variable on both sides; `expected` says that the two should differ."""

    name: str
    state: State
    a: Value | None
    b: Value | None
    expected: bool
    why: str = ""


@dataclass(frozen=True)
class Side:
    """One environment: whose it is, what it is called, and the template that holds it."""

    service: str
    title: str
    template: Template

    @property
    def values(self) -> dict[str, Value]:
        """Every variable by its name."""
        plain = {name: Value(text=text) for name, text in self.template.env}
        secrets = {
            secret.name: Value(
                text=f"secret {secret.secret} version {secret.version}", reference=True
            )
            for secret in self.template.secrets
        }
        return plain | secrets


def env_diff(a: Side, b: Side) -> tuple[Key, ...]:
    """Every key of either side, by name."""
    left, right = a.values, b.values
    reasons = OWN_RELEASE if a.service == b.service else OWN_RELEASE | OWN_SERVICE
    return tuple(
        _key(name, left.get(name), right.get(name), reasons.get(name, ""))
        for name in sorted(left.keys() | right.keys())
    )


def _key(name: str, a: Value | None, b: Value | None, why: str) -> Key:
    state: State = "same" if a == b else "only-a" if b is None else "only-b" if a is None else _DIFF
    return Key(
        name=name, state=state, a=a, b=b, expected=bool(why), why=why if state != "same" else ""
    )


_DIFF: State = "differs"
