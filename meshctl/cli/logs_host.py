"""`meshctl logs` of a service on hosts: what its unit wrote, the oldest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshctl.cli.host import ask_all
from meshctl.cli.world import World
from meshctl.errors import CheckFailed, MeshctlError, UsageError
from meshctl.observe.journald import command, lines_of
from meshctl.outside.ssh import Answer, Command
from meshctl.spec.model import PodmanTarget
from meshctl.ui.logs import logs_document

if TYPE_CHECKING:
    from meshctl.observe.logs import Line

POLL_S = 2.0
"""Between two looks while following."""


def hosts_of(world: World, service: str) -> dict[str, PodmanTarget]:
    """The hosts that a service is declared on; none where the fleet file cannot say."""
    try:
        fleet = world.fleet()
    except MeshctlError:
        return {}  # a service on Cloud Run has a log without any file
    wanted = fleet.services[service].target if service in fleet.services else ()
    targets = {name: fleet.targets[name] for name in wanted}
    return {name: t for name, t in targets.items() if isinstance(t, PodmanTarget)}


def host_logs(
    world: World,
    service: str,
    hosts: dict[str, PodmanTarget],
    *,
    since_s: float,
    severity: str | None,
    limit: int,
    follow: bool,
) -> None:
    """Show them, and go on while followed. Raises what the first host that failed raised, once
    the others were shown."""
    unit = f"{world.fleet().services[service].name or service}.service"
    last = dict.fromkeys(hosts, "")
    while True:
        asked = {
            name: (target.address, Command(command(
                unit, user=target.user, since_s=since_s, limit=limit, severity=severity,
                after=last[name],
            )))
            for name, target in hosts.items()
        }  # fmt: skip
        told = ask_all(world, asked)
        lines = _merged(told, several=len(hosts) > 1)
        last |= {name: _newest(told[name], last[name]) for name in hosts}
        if lines or not follow:
            note = "" if lines else f"{unit} wrote nothing in that time, or there is no such unit"
            world.output.show(logs_document(service, ", ".join(hosts), lines, note))
        _raise_first(told)
        if not follow:
            return
        world.clock.sleep(POLL_S)


def host_lines(
    world: World, service: str, hosts: dict[str, PodmanTarget], *, since_s: float, limit: int
) -> list[Line]:
    """The newest lines of its unit on each host, the oldest first. Raises what a host raised."""
    unit = f"{world.fleet().services[service].name or service}.service"
    told = ask_all(world, {
        name: (target.address, Command(command(
            unit, user=target.user, since_s=since_s, limit=limit, severity=None)))
        for name, target in hosts.items()
    })  # fmt: skip
    _raise_first(told)
    return _merged(told, several=len(hosts) > 1)


def _merged(told: dict[str, Answer], *, several: bool) -> list[Line]:
    found = [
        line
        for name, answer in told.items()
        if not isinstance(answer, MeshctlError)
        for line in lines_of(answer.out, name if several else "")
    ]
    return sorted(found, key=lambda line: line.at)


def _newest(answer: Answer, before: str) -> str:
    lines = [] if isinstance(answer, MeshctlError) else lines_of(answer.out, "")
    return lines[-1].id if lines else before


def _raise_first(told: dict[str, Answer]) -> None:
    for name, answer in told.items():
        if isinstance(answer, MeshctlError):
            raise answer
        if not answer.ok and not answer.out:
            said = answer.err.strip() or f"it ended with {answer.code}"
            raise CheckFailed(f"journalctl on {name}: {said}", place=name,
                              hint=f"`meshctl host exec {name} -- journalctl -n 5`")  # fmt: skip


def refuse_unfit(service: str, **named: object) -> None:
    """Raises UsageError for options that only Cloud Run's revisions have."""
    for option, value in named.items():
        if value:
            raise UsageError(
                f"--{option} names a revision of Cloud Run, and {service} runs on a host",
                hint=f"`meshctl logs {service} --since 1h`",
            )
