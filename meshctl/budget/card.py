"""Which card a release would run on, and how much of it an engine can use. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from meshctl.budget.devices import device_named, parse_gpu
from meshctl.budget.ledger import Source
from meshctl.errors import UsageError
from meshctl.quantities import show_bytes
from meshctl.spec.model import CloudRunTarget, Fleet, Gpu, PodmanTarget, Service

TRUSTED_ABOVE = 1.02
"""A fleet that says so much more than engines' logs do has copied the box."""


@dataclass(frozen=True)
class Card:
    """`count` equal cards: bytes of one, and what of it is taken by who is no service.

    `shared`: other services of the fleet run on them, too. `host` memory is no card at all.
    """

    name: str
    count: int
    usable_bytes: int
    source: Source
    text: str
    reserved_bytes: int = 0
    unified: bool = False
    shared: bool = False
    host: bool = False

    @property
    def spelled(self) -> str:
        """`R9700x2`, as --gpu takes it."""
        return self.name if self.count == 1 else f"{self.name}x{self.count}"


def card_of_gpu(text: str) -> Card:
    """The card that --gpu names. Raises UsageError."""
    device, count = parse_gpu(text)
    return Card(
        device.name, count, device.usable_bytes, device.source, device.text, unified=device.unified
    )


def card_of_service(fleet: Fleet, service: Service, target: str) -> Card:
    """What one instance of a service has: a card, or on Cloud Run without one its memory."""
    place = fleet.targets[target]
    if isinstance(place, PodmanTarget):
        return card_of_host(place, target)
    if service.resources.gpu is None:
        memory = service.resources.memory
        text = "the memory of an instance: no card, the processor serves"
        return Card("memory", 1, memory, "config", text, unified=True, host=True)
    return card_of_gpu(service.resources.gpu)


def card_of_target(fleet: Fleet, target: str) -> Card:
    """The cards of a host. Raises UsageError where a target has none of its own."""
    place = fleet.targets[target]
    if isinstance(place, CloudRunTarget):
        hint = "name one beside it: --gpu L4 or --gpu RTX-PRO-6000"
        raise UsageError(f"{target} gives each service the card it asks for", hint=hint)
    return card_of_host(place, target)


def card_of_host(place: PodmanTarget, target: str) -> Card:
    """The cards of a host; of several kinds the smallest, for nobody says which is meant."""
    if not place.gpus:
        raise UsageError(
            f"{target} declares no cards", place=f"targets.{target}",
            hint="write `gpus:` of the target, or name a card: --gpu R9700x2",
        )  # fmt: skip
    cards = [_declared(gpu, target) for gpu in place.gpus]
    return min(cards, key=lambda card: card.usable_bytes)


def _declared(gpu: Gpu, target: str) -> Card:
    known = device_named(gpu.name)
    card = Card(
        gpu.name, gpu.count, gpu.memory, "config", f"`gpus:` of {target}", gpu.reserved,
        unified=known is not None and known.unified, shared=True,
    )  # fmt: skip
    if known is None or known.unified or gpu.memory <= known.usable_bytes * TRUSTED_ABOVE:
        return card
    text = f"{known.text}; {target} says {show_bytes(gpu.memory)}, which no engine ever got"
    return replace(card, usable_bytes=known.usable_bytes, source=known.source, text=text)
