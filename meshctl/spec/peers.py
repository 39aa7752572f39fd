"""Peers and coordinators of a fleet: who belongs to whom, and what is unwise about it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshctl.spec.model import Fleet, Service
from meshctl.spec.tree import Complaint


def coordinators_of(fleet: Fleet, peer: str) -> tuple[str, ...]:
    """Who may announce a peer: the coordinator it is like; else every one of the fleet."""
    service = fleet.services.get(peer)
    found = tuple(key for key, each in fleet.services.items() if each.role == "coordinator")
    return (service.like,) if service and service.like in found else found


def peers_of_coordinator(fleet: Fleet, coordinator: str) -> tuple[str, ...]:
    """The peers that the fleet declares for a coordinator, in the order of the file."""
    return tuple(
        key
        for key, service in fleet.services.items()
        if service.role == "peer" and coordinator in coordinators_of(fleet, key)
    )


def names_of(service: Service) -> tuple[str, ...]:
    """Every string that clients may send for its models, each model before its aliases."""
    models = sorted(service.models.items())
    return tuple(name for id, model in models for name in (id, *sorted(model.aliases)))


def family(model: str) -> str:
    """`org/qwen3-8b-q4k` -> `qwen`: the letters that a model's own name begins with."""
    name = model.rpartition("/")[2].lower()
    match = re.match(r"[a-z]+", name)
    return match[0] if match else name


def unwise(fleet: Fleet) -> Iterator[Complaint]:
    """What may be meant, and mostly is not: said by `validate`, which calls such a file valid. What
    a plan refuses is said here, too, so that nobody has to plan to hear of it."""
    for key, service in fleet.services.items():
        if service.role == "peer":
            yield from _refused_by_plans(service, f"services.{key}")
            yield from unwise_peer(fleet, key)


def _refused_by_plans(service: Service, path: str) -> Iterator[Complaint]:
    if service.resources.gpu is None:
        message = "a peer without a GPU is refused by `meshctl plan`"
        yield Complaint(f"{path}.resources.gpu", message, "set resources.gpu")
    if "mesh" not in service.args:
        message = "a peer without `mesh` in its args is refused by `meshctl plan`"
        yield Complaint(f"{path}.args", message, "write `args: [mesh]`")


def unwise_peer(fleet: Fleet, peer: str) -> Iterator[Complaint]:
    """What is unwise about one peer, and refused by nobody."""
    yield from _families(fleet.services[peer], f"services.{peer}.models")
    for coordinator in coordinators_of(fleet, peer):
        yield from _overlaps(fleet, peer, coordinator)


def _families(service: Service, path: str) -> Iterator[Complaint]:
    found = sorted({family(model) for model in service.models})
    if len(found) > 1:
        message = f"one peer for several model families ({', '.join(found)}) swaps between them"
        yield Complaint(path, message, "give each family a peer of its own")


def _overlaps(fleet: Fleet, peer: str, coordinator: str) -> Iterator[Complaint]:
    mine, path = names_of(fleet.services[peer]), f"services.{peer}.models"
    owned = _both(mine, names_of(fleet.services[coordinator]))
    if owned:
        message = f"{coordinator} answers for {owned} itself and never asks this peer"
        yield Complaint(path, message, f"leave it out here, or there: services.{coordinator}")
    for other in peers_of_coordinator(fleet, coordinator):
        shared = _both(mine, names_of(fleet.services[other]))
        if other != peer and shared:
            message = f"{other} lists {shared} as well"
            hint = "the lowest priority is asked, then the highest weight: the other one is not"
            yield Complaint(path, message, hint)


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    return ", ".join(name for name in one if name in other)
