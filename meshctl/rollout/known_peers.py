"""Finds what is announced: by a coordinator itself, or by the one that a peer belongs to."""

from __future__ import annotations

from meshctl.rollout.ground import Ground
from meshctl.spec.model import CloudRunTarget, Fleet
from meshctl.spec.peers import coordinators_of
from meshctl.state.ledger import Ledger, read_ledger
from meshctl.state.peers import announced
from meshctl.state.site import site_of


def peers_of(ground: Ground, fleet: Fleet, ledger: Ledger) -> str:
    """The announcement that matters for this service; empty for one that stands alone."""
    service = fleet.services[ground.key]
    if service.role == "coordinator":
        return announced(ledger).text
    if service.role != "peer":
        return ""
    texts = (_announced_by(ground, fleet, name) for name in coordinators_of(fleet, ground.key))
    return next((text for text in texts if text), "")


def _announced_by(ground: Ground, fleet: Fleet, key: str) -> str:
    service = fleet.services[key]
    for name in service.target:
        place = fleet.targets[name]
        if isinstance(place, CloudRunTarget):
            ledger = read_ledger(ground.store, service.name or key, site_of(place))
            return announced(ledger).text
    return ""
