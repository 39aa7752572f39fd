"""`meshctl host check`: whether the hosts of the fleet can take what the file wants of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from meshctl.cli.host import HOSTS, ask_all, named_hosts, worst
from meshctl.cli.world import world_of
from meshctl.errors import MeshctlError, Unreachable
from meshctl.outside.chance import salt
from meshctl.outside.ssh import Answer, script

if TYPE_CHECKING:
    from meshctl.targets.podman.readings.need import Need
    from meshctl.ui.host_check import CheckedHost


def check(ctx: typer.Context, hosts: list[str] | None = HOSTS) -> int:
    """Say of each service on a host whether it can run there: port, cards, image, podman, linger.

    Also how its unit does, and what holds its place that is not ours. Nothing is changed. Exits 9
    where something is wrong, 7 where something that matters is unknown, 6 or 8 where a host is not
    reached. Where payloads lie and what a model takes of a card is not asked yet.
    """
    from meshctl.targets.podman.needs import asked, needs
    from meshctl.targets.podman.readings.look import LOOK, arguments
    from meshctl.ui.host_check import HostCheck

    world = world_of(ctx)
    named, mark = named_hosts(world, hosts), f"@{salt()}{salt()}"
    wanted = {name: needs(world.fleet(), name, target) for name, target in named.items()}
    looks = {
        name: (target.address, script(LOOK, *arguments(asked(target, wanted[name]), mark)))
        for name, target in named.items()
    }
    told = ask_all(world, looks)
    checked = tuple(
        _checked(name, target.address, told[name], mark, wanted[name])
        for name, target in named.items()
    )
    world.output.show(HostCheck(hosts=checked))
    return worst([_code(host, told[host.name]) for host in checked])


def _checked(
    name: str, address: str, told: Answer, mark: str, wanted: dict[str, Need]
) -> CheckedHost:
    from meshctl.targets.podman.readings.host import parse
    from meshctl.ui.host_check import CheckedHost, checked_service

    if isinstance(told, MeshctlError):
        state = "unreachable" if isinstance(told, Unreachable) else "refused"
        return CheckedHost(name=name, address=address, state=state, why=told.message,
                           hint=told.hint, services=())  # fmt: skip
    seen = parse(told.out, mark)
    ours = seen.pids_of(*(need.unit for need in wanted.values()))
    services = tuple(checked_service(seen, need, ours) for need in wanted.values())
    why = "" if seen.whole else "the answer was cut: what is missing is unknown"
    return CheckedHost(name=name, address=address, state="up", why=why, hint="", services=services)


def _code(host: CheckedHost, told: Answer) -> int:
    if isinstance(told, MeshctlError):
        return told.exit_code
    verdicts = {service.verdict for service in host.services}
    return 9 if "fail" in verdicts else 7 if "unclear" in verdicts or host.why else 0
