"""What the services of a fleet need of one host, as far as the fleet file alone tells. Pure."""

from __future__ import annotations

from meshctl.spec.model import Fleet, PodmanTarget, Service
from meshctl.targets.podman.readings.look import Asked
from meshctl.targets.podman.readings.need import CardNeed, Need
from meshctl.targets.podman.unit import vendor_of

LEAST_PODMAN = (4, 4)
"""The first podman with quadlets."""


def needs(fleet: Fleet, name: str, target: PodmanTarget) -> dict[str, Need]:
    """By service. What a model takes of a card, and where payloads lie, nobody has reckoned here:
    a card is needed, not yet so many bytes of it."""
    here = {key: s for key, s in fleet.services.items() if name in s.target}
    return {key: _need(fleet, key, service, target) for key, service in here.items()}


def asked(target: PodmanTarget, wanted: dict[str, Need]) -> Asked:
    """All our units of a host at once: they tell what of it is ours."""
    return Asked(user=target.user, units=tuple(need.unit for need in wanted.values()))


def cards_needed(target: PodmanTarget) -> tuple[CardNeed, ...]:
    """The declared cards, as what must be there."""
    return tuple(
        CardNeed(name=card.name, count=card.count, vendor=vendor_of(card), total_bytes=card.memory)
        for card in target.gpus
    )


def _ports(service: Service) -> tuple[int, ...]:
    """Of the host: what is published, or where a program of the host itself listens."""
    if service.runtime == "exec":
        return (service.port,)
    return tuple(int(port.split(":")[-2]) for port in service.ports)


def _need(fleet: Fleet, key: str, service: Service, target: PodmanTarget) -> Need:
    name, contained = service.name or key, service.runtime == "podman"
    image = fleet.images[service.image].ref or ""
    return Need(
        service=key,
        unit=f"{name}.service",
        container=name if contained else "",
        user=target.user,
        unified_memory=target.unified_memory,
        cards=cards_needed(target),
        ports=_ports(service),
        image=image.partition("@")[2] if contained else "",
        podman=LEAST_PODMAN if contained else (),
    )
