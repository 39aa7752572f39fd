"""How a sweep of hosts looks: a block for each host. Pure."""

from __future__ import annotations

from meshctl.targets.podman.readings.sweep import InTheWay
from meshctl.ui.host_sweep import HostSweep, SweptHost
from meshctl.ui.render.text import wrapped


def host_sweep_lines(document: HostSweep, width: int) -> list[str]:
    """What is in the way, and what was ended."""
    return [line for host in document.hosts for line in _host(host, width)]


def _host(host: SweptHost, width: int) -> list[str]:
    if host.state != "up":
        return wrapped(f"{host.name}: {host.state}: {host.why}", width, "", "  ")
    if not host.things and not host.ended and not host.why:
        return [f"{host.name}: nothing is in the way"]
    lines = [host.name, *(wrapped(host.why, width, "  ! ") if host.why else [])]
    lines += [line for one in host.ended for line in wrapped(f"ended: {_thing(one)}", width, "  ")]
    return lines + [line for one in host.things for line in wrapped(_told(one), width, "  ! ")]


def _told(one: InTheWay) -> str:
    return f"{_thing(one)}{f'; left alone: {one.spared}' if one.spared else ''}"


def _thing(one: InTheWay) -> str:
    holds = one.holds if one.holds.startswith(("is ", "the word")) else f"holds {one.holds}"
    return f"{one.kind} {one.what}: {holds}"
