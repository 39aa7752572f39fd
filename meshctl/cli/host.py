"""`meshctl host`: the machines of the fleet, as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from meshctl.cli.world import World, world_of
from meshctl.errors import MeshctlError, Unreachable, UsageError
from meshctl.outside.chance import salt
from meshctl.outside.shell import Result
from meshctl.outside.ssh import Command, Hosts, script
from meshctl.spec.model import PodmanTarget
from meshctl.spec.near import near

if TYPE_CHECKING:
    from meshctl.ui.hosts import HostAnswer, HostEntry

CONFIG = "MESHCTL_SSH_CONFIG"
"""The ssh configuration to go by, instead of the user's own."""
WORST = (9, 6, 8)
"""Exit codes, the worst first; design section 6."""


def list_(
    ctx: typer.Context,
    hosts: list[str] | None = typer.Argument(None, metavar="HOST", help="All when none is named."),
) -> int:
    """Say which hosts answer, what they are, and what memory and disk they have free.

    One connection and one round trip a host, all at once. A host that does not answer is unknown,
    never empty: exits 6 for one that cannot be reached and 8 for one that does not let us in.
    """
    from meshctl.targets.podman.readings.look import LOOK, Asked, arguments
    from meshctl.ui.hosts import Hosts as Document

    world = world_of(ctx)
    named = _named(world, hosts)
    mark = f"@{salt()}{salt()}"
    told = _all(world, named, script(LOOK, *arguments(Asked(), mark)))
    entries = tuple(
        _entry(name, target, told[target.address], mark) for name, target in named.items()
    )
    world.output.show(Document(hosts=entries))
    return _worst([*_codes(named, told), *(6 for e in entries if e.state == "unreadable")])


def exec_(
    ctx: typer.Context,
    hosts: str = typer.Argument(..., metavar="HOSTS", help="Names with commas between, or `all`."),
    command: list[str] = typer.Argument(..., metavar="COMMAND", help="Its words, after `--`."),
    longest_s: float = typer.Option(
        60.0, "--longest", min=1, max=3600, help="Seconds it may take."
    ),
) -> int:
    """Run one command on hosts, all at once, and show what each said.

    The words reach the program as they are; for a pipe write `-- sh -c '...'`. Exits 9 where the
    command failed on some host, 6 where a host was not reached.
    """
    from meshctl.ui.hosts import HostExec

    world = world_of(ctx)
    named = _named(world, None if hosts == "all" else hosts.split(","))
    told = _all(world, named, Command(tuple(command), timeout_s=longest_s))
    answers = tuple(_answer(name, told[target.address]) for name, target in named.items())
    world.output.show(HostExec(command=tuple(command), answers=answers))
    return _worst(_codes(named, told))


def _all(
    world: World, named: dict[str, PodmanTarget], command: Command
) -> dict[str, Result | MeshctlError]:
    config = world.environ.get(CONFIG)
    world.output.progress(f"asking {len(named)} host{'s' if len(named) != 1 else ''}")
    with Hosts({"config": [config]} if config else None) as hosts:
        return hosts.run_all([target.address for target in named.values()], command)


def _named(world: World, names: Sequence[str] | None) -> dict[str, PodmanTarget]:
    """Hosts by their names. Raises UsageError for what is none."""
    fleet = world.fleet()
    known = {n: t for n, t in fleet.targets.items() if isinstance(t, PodmanTarget)}
    for name in names or ():
        if name not in known:
            message = f"{name} is a Cloud Run target" if name in fleet.targets else (
                f"no host named {name!r}"
            )  # fmt: skip
            hint = near(name, known) or "hosts are targets of `kind: podman`"
            raise UsageError(message, hint=hint, place=fleet.file)
    if not known:
        hint = "declare one: `kind: podman` with an `address`"
        raise UsageError("the fleet has no hosts", hint=hint, place=fleet.file)
    return {name: known[name] for name in dict.fromkeys(names or known)}


def _entry(name: str, target: PodmanTarget, told: Result | MeshctlError, mark: str) -> HostEntry:
    from meshctl.targets.podman.readings.host import parse
    from meshctl.ui.hosts import HostEntry, host_facts

    if isinstance(told, MeshctlError):
        state = "unreachable" if isinstance(told, Unreachable) else "refused"
        return HostEntry(name=name, address=target.address, state=state, facts=None,
                         why=told.message, hint=told.hint)  # fmt: skip
    seen = parse(told.out, mark)
    if not told.ok and not seen.whole:
        why = f"the reading ended with {told.code}: {told.err.strip() or 'it said nothing'}"
        return HostEntry(name=name, address=target.address, state="unreadable", facts=None,
                         why=why, hint=f"try `ssh {target.address} uname -a`")  # fmt: skip
    facts = host_facts(seen, unified=target.unified_memory)
    return HostEntry(name=name, address=target.address, state="up", facts=facts, why="", hint="")


def _answer(name: str, told: Result | MeshctlError) -> HostAnswer:
    from meshctl.ui.hosts import HostAnswer

    if isinstance(told, MeshctlError):
        return HostAnswer(name=name, code=None, out="", err="", why=told.message, hint=told.hint)
    return HostAnswer(name=name, code=told.code, out=told.out, err=told.err, why="", hint="")


def _codes(named: dict[str, PodmanTarget], told: dict[str, Result | MeshctlError]) -> list[int]:
    answers = [told[target.address] for target in named.values()]
    return [a.exit_code if isinstance(a, MeshctlError) else 0 if a.ok else 9 for a in answers]


def _worst(codes: Sequence[int]) -> int:
    return next((code for code in WORST if code in codes), max(codes, default=0))
