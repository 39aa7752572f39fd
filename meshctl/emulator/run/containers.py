"""Refusals of containers: how many, images, ports, variables, their order (facts s5, s8)."""

from __future__ import annotations

import re
from typing import Any

from meshctl.emulator.failures import invalid
from meshctl.emulator.images import reference
from meshctl.emulator.run import probes
from meshctl.emulator.serve import secrets

_LABEL = re.compile(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
RESERVED_ENV = ("PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION")
MOST_CONTAINERS, MOST_ENV, MOST_ARGS, LONGEST_ENV = 10, 1000, 1000, 32768
PATH = "template.containers"


def check(containers: list[dict[str, Any]], on_gpu: bool) -> None:
    """All containers of a template; ApiError 400."""
    if not containers:
        raise invalid("Revision template must contain at least one container.", PATH)
    if len(containers) > MOST_CONTAINERS:
        raise invalid(f"A revision may have at most {MOST_CONTAINERS} containers.", PATH)
    with_ports = [c for c in containers if c.get("ports")]
    if len(containers) > 1 and len(with_ports) != 1:
        raise invalid("There must be exactly one container with an exposed port.", PATH)
    for index, container in enumerate(containers):
        _container(container, f"{PATH}[{index}]")
        probes.check(container, f"{PATH}[{index}]", on_gpu)
    _totals(containers)
    _order(containers)


def _totals(containers: list[dict[str, Any]]) -> None:
    """facts s5: the limits count over all containers."""
    if sum(len(c.get("env", [])) for c in containers) > MOST_ENV:
        raise invalid(f"At most {MOST_ENV} environment variables are allowed.", PATH)
    if sum(len(c.get("args", [])) for c in containers) > MOST_ARGS:
        raise invalid(f"At most {MOST_ARGS} arguments are allowed.", PATH)


def _container(container: dict[str, Any], path: str) -> None:
    image = container.get("image")
    if not image:
        raise invalid(f"{path}.image: must provide an image name to deploy.", f"{path}.image")
    if reference.parse(image) is None:
        raise invalid(f"{path}.image: '{image}' must be a container image path.", f"{path}.image")
    if container.get("name") and not _LABEL.match(container["name"]):
        raise invalid(f"{path}.name must be a valid RFC 1123 name.", f"{path}.name")
    _ports(container.get("ports", []), path)
    _env(container.get("env", []), path)
    secrets.check(container.get("env", []), path)


def _ports(ports: list[dict[str, Any]], path: str) -> None:
    if len(ports) > 1:
        raise invalid(f"{path}.ports should contain 0 or 1 port.", f"{path}.ports")
    for port in ports:
        if not 1 <= port.get("containerPort", 0) <= 65535:
            raise invalid(
                f"{path}.ports[0].container_port must be between 1 and 65535.",
                f"{path}.ports[0].container_port",
            )
        if port.get("name", "http1") not in ("", "http1", "h2c"):
            raise invalid("Port name must be http1 or h2c.", f"{path}.ports[0].name")


def _env(rows: list[dict[str, Any]], path: str) -> None:
    """facts s5: PORT and the K_ names belong to the platform; X_GOOGLE_ and twins pass."""
    reserved = [row["name"] for row in rows if row.get("name") in RESERVED_ENV]
    if reserved:
        raise invalid(
            f"The following reserved env names were provided: {', '.join(reserved)}. "
            "These values are automatically set by the system.",
            f"{path}.env",
        )
    for index, row in enumerate(rows):
        if not row.get("name"):
            raise invalid(f"{path}.env[{index}]: name is required.", f"{path}.env")
        if len(row["name"]) > LONGEST_ENV or len(row.get("value", "").encode()) > LONGEST_ENV:
            raise invalid(
                f"{path}.env[{index}]: length cannot exceed {LONGEST_ENV}.", f"{path}.env"
            )


def _order(containers: list[dict[str, Any]]) -> None:
    """facts s8: dependsOn names containers of this template, and never in a circle."""
    wanted = {c.get("name", ""): list(c.get("dependsOn", [])) for c in containers}
    for name, before in wanted.items():
        for other in before:
            if other not in wanted:
                raise invalid(f"Container '{name}' depends on unknown container '{other}'.", PATH)
    while free := [name for name, before in wanted.items() if not before]:
        wanted = {n: [b for b in before if b not in free] for n, before in wanted.items() if before}
    if wanted:
        raise invalid(f"The containers {sorted(wanted)} depend on each other in a cycle.", PATH)
