"""What services on hosts are right now: one look a host, all at once."""

from __future__ import annotations

from meshctl.cli.host import ask_all
from meshctl.cli.pairs import Pair
from meshctl.cli.world import World
from meshctl.errors import MeshctlError
from meshctl.observe.host_status import host_status, unreached
from meshctl.observe.status import Status
from meshctl.outside.chance import salt
from meshctl.outside.ssh import Answer, script
from meshctl.spec.model import PodmanTarget
from meshctl.targets.podman.readings.host import parse
from meshctl.targets.podman.readings.look import LOOK, Asked, arguments


def host_statuses(world: World, wanted: list[Pair]) -> dict[Pair, Status]:
    """Of those pairs whose target is a host; no host is asked twice."""
    fleet, mark = world.fleet(), f"@{salt()}{salt()}"
    units: dict[str, list[str]] = {}
    for key, target in wanted:
        if isinstance(fleet.targets[target], PodmanTarget):
            units.setdefault(target, []).append(f"{fleet.services[key].name or key}.service")
    if not units:
        return {}
    hosts = {name: _host(world, name) for name in units}
    told = ask_all(world, {
        name: (host.address, script(LOOK, *arguments(_asked(host, units[name]), mark)))
        for name, host in hosts.items()
    })  # fmt: skip
    found = [pair for pair in wanted if pair[1] in hosts]
    return {pair: _status(world, pair, told[pair[1]], mark) for pair in found}


def _host(world: World, name: str) -> PodmanTarget:
    target = world.fleet().targets[name]
    assert isinstance(target, PodmanTarget), "only such targets are asked for units"
    return target


def _asked(host: PodmanTarget, units: list[str]) -> Asked:
    return Asked(user=host.user, units=tuple(units))


def _status(world: World, pair: Pair, told: Answer, mark: str) -> Status:
    key, target = pair
    service = world.fleet().services[key]
    if isinstance(told, MeshctlError):
        return unreached(key, service, target, told.message)
    return host_status(key, service, target, parse(told.out, mark))
