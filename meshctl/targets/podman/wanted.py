"""The unit that the fleet wants on a host, as text. Pure."""

from __future__ import annotations

from meshctl.plan.wanted import env_of, image_reference, secrets_of
from meshctl.spec.model import Fleet, PodmanTarget, Service
from meshctl.state.builds import Built
from meshctl.targets.podman.exec_unit import exec_unit
from meshctl.targets.podman.quadlet import quadlet
from meshctl.targets.podman.unit import Unit


def wanted_unit(
    fleet: Fleet, key: str, place: PodmanTarget, built: Built | None, peers: str = ""
) -> str:
    """The text of the service's unit, without marks; "" while its image is not built.

    Raises Refused for what cannot be rendered without a change.
    """
    service = fleet.services[key]
    contained = service.runtime == "podman"
    image = image_reference(fleet.images[service.image], built) if contained else ""
    if image is None:
        return ""
    of = Unit(
        name=service.name or key,
        fleet=fleet.fleet,
        key=key,
        service=service,
        target=place,
        image=image,
        folders={name: f"{place.payloads}/{name}" for name in fleet.payloads},
        ports=service.ports,
        env=dict(env_of(fleet, service, peers)),
        secrets=secrets_of(service),
        weights_bytes=_weights(fleet, service),
    )
    return quadlet(of) if contained else exec_unit(of)


def _weights(fleet: Fleet, service: Service) -> int:
    """What is read before it serves: the files of what is mounted, or of what its models name."""
    mounted = {v.removeprefix("payload:") for v in service.mounts.values()}
    named = {model.payload for model in service.models.values()}
    payloads = (fleet.payloads[name] for name in fleet.payloads if name in mounted | named)
    return sum(file.bytes for payload in payloads for file in payload.files.values())
