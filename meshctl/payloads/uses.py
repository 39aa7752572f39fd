"""Says what in a fleet uses a payload, and all that its services say of files. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.payloads.references import References, Text, Unsearched
from meshctl.spec.model import Fleet, PodmanTarget, Service

_PAYLOAD = "payload:"


def uses_of(fleet: Fleet, payload: str) -> tuple[str, ...]:
    """The keys of the fleet file that name it: models and mounts of services, builds."""
    return tuple(_uses(fleet, payload))


def _uses(fleet: Fleet, payload: str) -> Iterator[str]:
    for key, service in fleet.services.items():
        for name, model in service.models.items():
            if model.payload == payload:
                yield f"services.{key}.models.{name}"
        for path, what in service.mounts.items():
            if what == f"{_PAYLOAD}{payload}":
                yield f"services.{key}.mounts.{path}"
    for name, image in fleet.images.items():
        for path, what in (image.build.include if image.build else {}).items():
            if what == f"{_PAYLOAD}{payload}":
                yield f"images.{name}.build.include.{path}"


def said_in(fleet: Fleet) -> References:
    """Every text of the services, and the hosts whose units and command lines nobody has read."""
    texts = [text for key, one in fleet.services.items() for text in _texts(key, one)]
    return References(tuple(texts), tuple(_hosts(fleet)))


def _texts(key: str, service: Service) -> Iterator[Text]:
    """An env value that is a secret is none of our business, and names no file."""
    place = f"services.{key}"
    for field in ("command", "args", "ports", "devices"):
        yield Text(f"{place}.{field}", "\n".join(getattr(service, field)))
    for path, what in service.mounts.items():
        if not what.startswith(_PAYLOAD):
            yield Text(f"{place}.mounts.{path}", what)
    for name, value in service.env.items():
        if isinstance(value, str):
            yield Text(f"{place}.env.{name}", value)
    for name, model in service.models.items():
        yield Text(f"{place}.models.{name}.command", "\n".join(model.command))
        for variable, value in model.env.items():
            yield Text(f"{place}.models.{name}.env.{variable}", value)


def _hosts(fleet: Fleet) -> Iterator[Unsearched]:
    for name, target in fleet.targets.items():
        if isinstance(target, PodmanTarget):
            why = f"units and command lines on {target.address} were not read"
            yield Unsearched(f"targets.{name}", why)
