"""`meshctl host sweep`: what is in the way of services on their hosts, and its end on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from meshctl.cli.host import HOSTS, ask_all, named_hosts, worst
from meshctl.cli.world import World, world_of
from meshctl.errors import MeshctlError, Unreachable
from meshctl.outside.chance import salt
from meshctl.outside.ssh import script

if TYPE_CHECKING:
    from meshctl.spec.model import PodmanTarget
    from meshctl.targets.podman.readings.sweep import InTheWay
    from meshctl.ui.host_sweep import HostSweep, SweptHost

END_S = 300.0
"""For all of one host: each may take ten seconds to end by itself."""


def sweep(
    ctx: typer.Context,
    hosts: list[str] | None = HOSTS,
    dry_run: bool = typer.Option(False, "--dry-run", help="List only."),
) -> int:
    """List what holds a service's port, card or name and is not ours; end it on demand.

    Also units and containers that `sweep.legacy` names, and processes that hold the word of
    `sweep.match`. Exits 9 where something is in the way still, 6 or 8 where a host is not reached.
    """
    from meshctl.ui.host_sweep import HostSweep

    world = world_of(ctx)
    named = named_hosts(world, hosts)
    found = [_looked(world, name, target) for name, target in named.items()]
    ending = {host.name: tuple(t for t in host.things if not t.spared) for host in found}
    count = sum(map(len, ending.values()))
    if dry_run or not count:
        world.output.show(HostSweep(hosts=tuple(found)))
        return worst([_code(host) for host in found])
    _say(world, HostSweep(hosts=tuple(found)))
    world.output.confirm(f"End {count} of them?")
    swept = [_ended(world, named[host.name], host, ending[host.name]) for host in found]
    world.output.show(HostSweep(hosts=tuple(swept)))
    return worst([_code(host) for host in swept])


def _say(world: World, document: HostSweep) -> None:
    from meshctl.ui.render import render

    world.output.say("\n".join(render(document, 80)))


def _looked(world: World, name: str, target: PodmanTarget) -> SweptHost:
    """One host, as it is now; never raises for it."""
    from meshctl.ui.host_sweep import SweptHost

    try:
        things = _things(world, name, target)
    except MeshctlError as error:
        state = "unreachable" if isinstance(error, Unreachable) else "refused"
        return SweptHost(name=name, state=state, why=error.message, things=())
    return SweptHost(name=name, state="up", why="", things=things)


def _things(world: World, name: str, target: PodmanTarget) -> tuple[InTheWay, ...]:
    """Two round trips: the host as gates see it, and who the strays are."""
    from meshctl.targets.podman.needs import asked, needs
    from meshctl.targets.podman.readings.host import parse
    from meshctl.targets.podman.readings.look import LOOK, arguments
    from meshctl.targets.podman.readings.strays import strays
    from meshctl.targets.podman.readings.sweep import in_the_way, processes
    from meshctl.targets.podman.scripts import SEE, written

    fleet, mark = world.fleet(), f"@{salt()}{salt()}"
    wanted = needs(fleet, name, target)
    sweeps = {key: fleet.services[key].sweep for key in wanted}
    legacy = tuple(f"{one.removesuffix('.service')}.service"
                   for each in sweeps.values() for one in each.legacy)  # fmt: skip
    question = asked(target, wanted)
    question = question.model_copy(update={"units": (*question.units, *legacy)})
    told = world.hosts.run(target.address, script(LOOK, *arguments(question, mark)))
    seen = parse(told.out, mark)
    if not seen.whole:
        raise Unreachable("its answer was cut", place=target.address, hint="ask again")
    ours = seen.pids_of(*(need.unit for need in wanted.values()))
    found: list[InTheWay] = []
    for key, need in wanted.items():
        stray = strays(seen, need, ours).found
        pids = [str(one.pid) for one in stray if one.pid and one.kind == "process"]
        see = written(SEE, "user" if target.user else "system", "", match=sweeps[key].match or "")
        known = processes(world.hosts.run(target.address, script(see, *pids)).out)
        if known is None:
            raise Unreachable("its answer was cut", place=target.address, hint="ask again")
        found += in_the_way(seen, need, stray, known, ours, tuple(sweeps[key].legacy))
    return tuple({thing.order or thing.what: thing for thing in found}.values())


def _ended(
    world: World, target: PodmanTarget, host: SweptHost, things: tuple[InTheWay, ...]
) -> SweptHost:
    """Ended, then looked at again: what is said is what is seen."""
    from meshctl.targets.podman.scripts import END, written

    if not things:
        return host
    whose = "user" if target.user else "system"
    orders = script(written(END, whose, ""), *(one.order for one in things), timeout_s=END_S)
    told = ask_all(world, {host.name: (target.address, orders)})[host.name]
    if isinstance(told, MeshctlError):
        return host.model_copy(update={"why": f"whether they ended is unknown: {told.message}"})
    after = _looked(world, host.name, target)
    left = {one.order for one in after.things}
    return after.model_copy(update={"ended": tuple(t for t in things if t.order not in left)})


def _code(host: SweptHost) -> int:
    if host.state != "up":
        return 6 if host.state == "unreachable" else 8
    return 9 if host.things or host.why else 0
