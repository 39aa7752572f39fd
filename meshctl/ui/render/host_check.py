"""How the check of hosts looks: a block for each host, a paragraph for each service. Pure."""

from __future__ import annotations

from meshctl.targets.podman.readings.need import GateFinding
from meshctl.targets.podman.readings.strays import Stray
from meshctl.ui.host_check import CheckedHost, CheckedService, HostCheck
from meshctl.ui.render.text import sign, wrapped


def host_check_lines(document: HostCheck, width: int) -> list[str]:
    """What does not pass is told with its evidence and the next thing to do."""
    blocks = [_host(host, width) for host in document.hosts]
    return [line for block in blocks for line in (*block, "")][:-1]


def _host(host: CheckedHost, width: int) -> list[str]:
    state = "" if host.state == "up" else f"  {host.state}"
    lines = [f"{host.name}  {host.address}{state}"]
    lines += wrapped(host.why, width, "  ! ") if host.why else []
    lines += wrapped(host.hint, width, "  -> ") if host.hint else []
    if host.state == "up" and not host.services:
        lines.append("  the fleet wants nothing of it")
    return lines + [line for service in host.services for line in _service(service, width)]


def _service(service: CheckedService, width: int) -> list[str]:
    unread = any(gate.name == "unit" for gate in service.gates)
    absent = "unit unknown" if unread else "no unit yet"
    unit = f"unit {service.unit}" if service.unit else absent
    restarts = f", {service.restarts} restarts" if service.restarts else ""
    lines = [f"  {sign(service.verdict)} {service.name}: {unit}{restarts}"]
    lines += wrapped(service.cause, width, "    ! ") if service.cause else []
    lines += [line for gate in service.gates for line in _gate(gate, width)]
    lines += [line for stray in service.strays for line in wrapped(_stray(stray), width, "    ! ")]
    unseen = f"not looked at for strays: {', '.join(service.unread)}"
    return lines + (wrapped(unseen, width, "    ") if service.unread else [])


def _gate(gate: GateFinding, width: int) -> list[str]:
    lines = wrapped(f"{sign(gate.verdict)} {gate.name}: {gate.evidence}", width, "    ")
    asks = gate.verdict != "pass" and gate.hint
    return lines + (wrapped(gate.hint, width, "      -> ") if asks else [])


def _stray(stray: Stray) -> str:
    pid = f" (pid {stray.pid})" if stray.pid else ""
    return f"{stray.kind} {stray.name}{pid} holds {stray.holds} and is not ours"
