"""NAME.container: the quadlet of a service that podman runs from an image. Pure.

What podman's generator makes of each key was read from pkg/systemd/quadlet of 5.4 and tried with
the generator itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from meshctl.errors import Refused
from meshctl.plan.unit_text import Entry, carried, quoted, raw, write
from meshctl.quantities import show_seconds
from meshctl.targets.podman import unit
from meshctl.targets.podman.unit import Unit

_PINNED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]*@sha256:[0-9a-f]{64}")
_SECRET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
AMD_DEVICES = ("/dev/kfd", "/dev/dri")
NVIDIA_DEVICE = "nvidia.com/gpu=all"
"""By the Container Device Interface, which the toolkit's nvidia-ctk generates."""


def quadlet(of: Unit) -> str:
    """The text of NAME.container. Equal wishes give equal text.

    Raises Refused for what cannot be rendered without a change.
    """
    command = (*of.service.command, *of.service.args)
    unit.held(of, command)
    container = [Entry("Container", key, value) for key, value in _container(of)]
    parts = (unit.head(of), container, unit.standing(of), unit.tail(of), unit.about(of))
    return write(entry for part in parts for entry in part)


def secret_name(secret: str, version: str) -> str:
    """The podman secret that holds a pinned version: a rollback finds the old one beside it.

    podman keeps it on the host, readable by the unit's user alone, and hands it to the process; the
    unit, `podman inspect` and every command line hold this name only.
    """
    name = f"meshctl-{secret}-{version}"
    if not _SECRET.fullmatch(name):
        raise Refused(f"{name!r} is no name of a podman secret", hint="letters, digits and . _ -")
    return name


def _container(of: Unit) -> Iterator[tuple[str, str]]:
    service = of.service
    if not _PINNED.fullmatch(of.image):
        raise Refused(f"{of.name}: {of.image!r} is not REPOSITORY@sha256:DIGEST", hint="pin it")
    yield "Image", of.image
    yield "ContainerName", of.name
    yield "Pull", "never"  # staged by digest beforehand; a start must not need a registry
    yield "LogDriver", "journald"
    if service.command:
        yield "Entrypoint", _json(service.command)
    if service.args:
        yield "Exec", " ".join(_argument(of, word) for word in service.args)
    for name, value in sorted(of.env.items()):
        yield "Environment", quoted(f"{name}={value}", dollar=True)
    for item in sorted(of.secrets, key=lambda each: each.name):
        yield "Secret", f"{secret_name(item.secret, item.version)},type=env,target={item.name}"
    yield from (("PublishPort", raw(port)) for port in of.ports)
    yield from _devices(of)
    yield from (("Volume", f"{_path(a)}:{_path(b)}:ro") for a, b in unit.mounts(of))
    if service.shm_size is not None:
        yield "ShmSize", f"{service.shm_size}b"
    for limit, value in sorted(service.ulimits.items()):
        yield "Ulimit", f"{limit}={value if ':' in value else f'{value}:{value}'}"
    yield from _health(of)
    for name, value in sorted(unit.labels(of).items()):
        yield "Label", quoted(f"{name}={value}", dollar=True)


def _argument(of: Unit, word: str) -> str:
    """Quadlet loses an empty word and every one behind it, and hands `;` to systemd as the end of
    the command; both were seen with 5.4.2."""
    if word in ("", ";"):
        message = f"{of.name}: a quadlet cannot carry the argument {word!r}"
        raise Refused(message, hint="move all of `args` into `command`, which can")
    return quoted(word, dollar=True)


def _json(words: Iterable[str]) -> str:
    """A list as podman takes it for --entrypoint and --health-cmd: no shell, every text."""
    for word in words:
        carried(word)
    return raw(json.dumps(list(words)))


def _path(path: str) -> str:
    if not path.startswith("/") or re.search(r"[\s:\"'\\]", path):
        raise Refused(f"{path!r} cannot be mounted", hint="absolute, no blanks, colons or quotes")
    return raw(path)


def _devices(of: Unit) -> Iterator[tuple[str, str]]:
    vendors = unit.vendors(of.target) if not of.service.devices else ()
    amd = AMD_DEVICES if "amd" in vendors else ()
    nvidia = (NVIDIA_DEVICE,) if "nvidia" in vendors else ()
    devices = of.service.devices or (*amd, *nvidia)
    yield from (("AddDevice", raw(device)) for device in devices)
    if of.target.user and "/dev/kfd" in devices:
        yield "GroupAdd", "keep-groups"  # the files belong to `render`: root inside is not in it


def _health(of: Unit) -> Iterator[tuple[str, str]]:
    """With a command that tells, `started` means served: a start that never gets there fails by
    TimeoutStartSec, and what is ordered after the unit waits. Without one podman says READY as soon
    as the process runs; images from scratch have nothing to ask with, so it is not assumed."""
    if not of.service.health:
        return
    probe = of.service.probe
    yield "HealthCmd", _json(of.service.health)
    yield "HealthInterval", show_seconds(probe.period)
    yield "HealthTimeout", show_seconds(probe.timeout)
    yield "HealthStartPeriod", f"{unit.start_timeout_s(of)}s"
    yield "Notify", "healthy"
