"""`meshctl host`: the machines of the fleet, as they are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from meshctl.cli.world import World, world_of
from meshctl.errors import MeshctlError, Unreachable, UsageError
from meshctl.outside.chance import salt
from meshctl.outside.ssh import Answer, Command, script
from meshctl.spec.model import PodmanTarget
from meshctl.spec.near import near

if TYPE_CHECKING:
    from meshctl.ui.hosts import HostAnswer, HostEntry

WORST = (9, 7, 6, 8)
"""Exit codes, the worst first; design section 6."""

HOSTS = typer.Argument(None, metavar="HOST", help="All when none is named.")


def list_(
    ctx: typer.Context,
    hosts: list[str] | None = HOSTS,
) -> int:
    """Say which hosts answer, what they are, and what memory and disk they have free.

    One connection and one round trip a host, all at once. A host that does not answer is unknown,
    never empty: exits 6 for one that cannot be reached and 8 for one that does not let us in.
    """
    from meshctl.targets.podman.readings.look import LOOK, Asked, arguments
    from meshctl.ui.hosts import Hosts as Document

    world = world_of(ctx)
    named = named_hosts(world, hosts)
    mark = f"@{salt()}{salt()}"
    look = script(LOOK, *arguments(Asked(), mark))
    told = ask_all(world, {name: (target.address, look) for name, target in named.items()})
    entries = tuple(_entry(name, target, told[name], mark) for name, target in named.items())
    world.output.show(Document(hosts=entries))
    return worst([*_codes(told), *(6 for e in entries if e.state == "unreadable")])


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
    named = named_hosts(world, None if hosts == "all" else hosts.split(","))
    wish = Command(tuple(command), timeout_s=longest_s)
    told = ask_all(world, {name: (target.address, wish) for name, target in named.items()})
    answers = tuple(_answer(name, told[name]) for name in named)
    world.output.show(HostExec(command=tuple(command), answers=answers))
    return worst(_codes(told))


def ask_all(world: World, asked: Mapping[str, tuple[str, Command]]) -> dict[str, Answer]:
    """By name of a host: its address, and the command for it."""
    world.output.progress(f"asking {len(asked)} host{'s' if len(asked) != 1 else ''}")
    return world.hosts.run_all(asked)


def named_hosts(world: World, names: Sequence[str] | None) -> dict[str, PodmanTarget]:
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


def _entry(name: str, target: PodmanTarget, told: Answer, mark: str) -> HostEntry:
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


def _answer(name: str, told: Answer) -> HostAnswer:
    from meshctl.ui.hosts import HostAnswer

    if isinstance(told, MeshctlError):
        return HostAnswer(name=name, code=None, out="", err="", why=told.message, hint=told.hint)
    return HostAnswer(name=name, code=told.code, out=told.out, err=told.err, why="", hint="")


def _codes(told: Mapping[str, Answer]) -> list[int]:
    return [
        answer.exit_code if isinstance(answer, MeshctlError) else 0 if answer.ok else 9
        for answer in told.values()
    ]


def worst(codes: Sequence[int]) -> int:
    """The one that a command about several hosts ends with."""
    return next((code for code in WORST if code in codes), max(codes, default=0))
