"""Says who answers for a model: an engine here, peers, or nobody. Pure.

A model that is loaded here is answered here. One that would have to be loaded goes to a peer that
has it, if one is well: a reload costs more than a hop. Only where there is none it is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meshctl.spec.federation import PeerEntry, choose
from meshctl.spec.registry import ModelEntry


@dataclass(frozen=True)
class Local:
    """An engine of this mesh answers."""

    model: ModelEntry


@dataclass(frozen=True)
class Peer:
    """Another mesh answers."""

    peer: PeerEntry


@dataclass(frozen=True)
class Unknown:
    """Nobody answers for this name."""

    name: str


Route = Local | Peer | Unknown


def route(name: str, models: Sequence[ModelEntry], peers: Sequence[PeerEntry]) -> Route:
    """Who owns a name: a model here by id or alias, else the first peer that takes it."""
    for model in models:
        if name in model.names:
            return Local(model)
    peer = choose(name, peers)
    return Peer(peer) if peer else Unknown(name)


def stays_here(*, resident: bool, forwarded: bool, peer_is_well: bool) -> bool:
    """Whether a request for a model of one's own is answered here, or by a peer that has it too.

    A request that a mesh sent here goes nowhere else.
    """
    return resident or forwarded or not peer_is_well
