"""Whether fetched payloads fit on an instance, and are there before its start is given up. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from meshctl.plan.acts import Acts
from meshctl.plan.request import Request
from meshctl.plan.steps import CreateService, PlaceRevision
from meshctl.quantities import show_bytes, show_seconds, size_above
from meshctl.spec.model import Fleet, Service
from meshctl.spec.registry import default_model_of
from meshctl.spec.shape import STARTUP_SECONDS, STARTUP_SECONDS_GPU

CACHE = "MESH_CACHE"
RATE = 100_000_000
"""Bytes a second at which a fetch is reckoned with: assumed, a slow gigabit line. More time costs
nothing, and too little costs the release."""

Problem = tuple[str, str, str]
"""The key below the service, what is wrong with it, and the way out."""


def problems(fleet: Fleet, service: Service, payloads: Sequence[str]) -> Iterator[Problem]:
    """Why the payloads cannot be kept on an instance, or come too late."""
    weights = {name: weight_of(fleet, name) for name in payloads}
    cache = service.cache if service.cache is not None else sum(weights.values())
    largest = max(weights, key=lambda name: weights[name])
    if weights[largest] > cache:
        weight, room = show_bytes(weights[largest]), show_bytes(cache)
        message = f"{largest} weighs {weight}, and the cache has {room}"
        yield "cache", message, f"raise it: `cache: {size_above(weights[largest])}` at least"
    if cache > service.resources.memory:
        yield from _no_memory(service, cache, weights[largest])
    yield from _too_late(fleet, service)


def weight_of(fleet: Fleet, payload: str) -> int:
    """Bytes of all files of a payload."""
    return sum(file.bytes for file in fleet.payloads[payload].files.values())


def _no_memory(service: Service, taken: int, largest: int) -> Iterator[Problem]:
    """On Cloud Run the disk of an instance is its memory."""
    memory = service.resources.memory
    message = (
        f"fetched payloads take up to {show_bytes(taken)} of the instance's disk, which is its "
        f"memory, and that has {show_bytes(memory)}"
    )
    way = "raise resources.memory"
    if largest <= memory and service.cache is None:
        way += f", or write `cache: {size_above(largest)}` at least, and less than that"
    elif largest <= memory:
        way = f"lower it: `cache: {size_above(largest)}` at least, and less than that; or {way}"
    yield ("resources.memory" if service.cache is None else "cache"), message, way


def _too_late(fleet: Fleet, service: Service) -> Iterator[Problem]:
    """The port opens when the default model is loaded, and until then the startup probe fails."""
    seconds = first_fetch_s(fleet, service)
    probe = service.probe
    budget = probe.failures * probe.period
    if seconds <= budget:
        return
    message = (
        f"the default model takes {show_seconds(seconds)} to fetch at {RATE // 10**6} MB/s, and "
        f"the startup probe gives {show_seconds(budget)}"
    )
    needed = math.ceil(seconds / probe.period)
    most = STARTUP_SECONDS_GPU if service.resources.gpu else STARTUP_SECONDS
    hint = f"write probe.failures: {needed} at least, and leave time for the load"
    if needed * probe.period > most:
        hint = f"more than {show_seconds(most)} is not given: `deliver: mount` or `bake`"
    yield "probe.failures", message, hint


def notes(request: Request, acts: Acts) -> list[str]:
    """How long the fetch before the port opens takes, where a release is placed."""
    service = request.service
    seconds = first_fetch_s(request.fleet, service) if service.deliver == "fetch" else 0.0
    if not seconds or not any(isinstance(act, CreateService | PlaceRevision) for _, act in acts):
        return []
    budget = show_seconds(service.probe.failures * service.probe.period)
    return [
        f"every start fetches the default model first: {show_seconds(seconds)} at "
        f"{RATE // 10**6} MB/s, which is assumed, of the {budget} that the startup probe gives"
    ]


def first_fetch_s(fleet: Fleet, service: Service) -> float:
    """Seconds until the payload of the default model is there, at RATE."""
    default = service.models.get(default_model_of(service) or "")
    if default is None or default.payload is None:
        return 0.0
    return weight_of(fleet, default.payload) / RATE
