"""What systemd says of units, and what their journals say went wrong first. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import Field

from meshctl.engines.diagnosis import diagnosed
from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.sections import Sections
from meshctl.targets.podman.readings.value import Known, Unknown, count, shown, unknown

_AGAIN = re.compile(r"Scheduled restart job, restart counter is at \d+\.$")
_START = re.compile(r"(Starting|Started) .{1,300}\.(\.\.)?$")
"""As systemd's manager writes them into the journal of the unit (src/core/service.c, job.c)."""


class FirstCause(Frozen):
    """Why a unit failed; `id` empty where the failure is none that is known."""

    id: str = ""
    line: str
    remedy: str = ""


class UnitSeen(Frozen):
    """One unit. `restarts` and the rest are as systemd counts them since it loaded the unit."""

    name: str
    load: str = Field(description="loaded, not-found, masked, ...")
    active: str = Field(description="active, activating, failed, inactive, ...")
    sub: str = ""
    result: str = ""
    restarts: Known[int] | Unknown
    main_pid: int | None = None
    exit_status: int | None = None
    invocation: str = Field(default="", description="a new one with every start")
    entered_us: int | None = Field(default=None, description="since boot; of the last active state")
    fragment: str = ""
    drop_ins: tuple[str, ...] = ()
    pids: tuple[int, ...] = Field(default=(), description="of its control group, and below it")
    cause: FirstCause | None = None


def units(said: Sections, token: str) -> Known[tuple[UnitSeen, ...]] | Unknown:
    """Every unit that was asked for; none asked is none seen."""
    section = said["units"]
    if section.rc != "0":
        return section.why_not("systemctl")
    causes, pids = _causes(said["journals"].text, token), _pids(said["procs"].text)
    blocks = (_properties(block) for block in section.text.split("\n\n"))
    seen = tuple(_unit(block, causes, pids) for block in blocks if block.get("Id"))
    return Known[tuple[UnitSeen, ...]](value=seen, source="systemctl show")


def first_cause(journal: str) -> FirstCause | None:
    """The root of what the journal shows, rather than its last line, which is a wrapper's."""
    diagnosis = diagnosed(journal.split("\n"))
    if diagnosis.root:
        signature = diagnosis.root.signature
        return FirstCause(
            id=signature.id, line=shown(diagnosis.root.line), remedy=shown(signature.remedy)
        )
    return FirstCause(line=shown(diagnosis.complaint.line)) if diagnosis.complaint else None


def last_begun(journal: str) -> str:
    """What was written since the unit was last started by hand: before that it was another release,
    whose fault would be told as this one's. systemd counts restarts from there."""
    lines = journal.split("\n")
    return "\n".join(lines[begun_at(lines) :])


def begun_at(lines: Sequence[str]) -> int:
    """Where in a journal the last start by hand is; 0 where none is in it."""
    begun, again, pair = 0, False, False
    for n, line in enumerate(lines):
        if _AGAIN.search(line):
            again, pair = True, False
        elif line.startswith("Stopped "):
            again, pair = False, False
        elif _START.match(line):
            if not again and not pair:
                begun = n
            pair = line.startswith("Starting ")
            again = again and pair
    return begun


def _unit(
    said: dict[str, str], causes: dict[str, str], pids: dict[str, tuple[int, ...]]
) -> UnitSeen:
    restarts = count(said.get("NRestarts", ""))
    invocation = said.get("InvocationID", "")
    return UnitSeen(
        name=shown(said["Id"]),
        load=shown(said.get("LoadState", "")),
        active=shown(said.get("ActiveState", "")),
        sub=shown(said.get("SubState", "")),
        result=shown(said.get("Result", "")),
        restarts=Known[int](value=restarts, source="systemctl show")
        if restarts is not None
        else unknown("systemd does not count restarts", said.get("NRestarts", "")),
        main_pid=count(said.get("MainPID", "")) or None,
        exit_status=count(said.get("ExecMainStatus", "")),
        invocation=invocation if re.fullmatch(r"[0-9a-f]{32}", invocation) else "",
        entered_us=count(said.get("ActiveEnterTimestampMonotonic", "")) or None,
        fragment=shown(said.get("FragmentPath", "")),
        drop_ins=tuple(shown(path) for path in said.get("DropInPaths", "").split()),
        pids=pids.get(said["Id"], ()),
        cause=first_cause(last_begun(causes.get(said["Id"], ""))),
    )


def _properties(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.split("\n"))
    return {name: value.strip() for name, _, value in pairs if name}


def _pids(text: str) -> dict[str, tuple[int, ...]]:
    """`unit NAME`, then a line for each process."""
    parts = f"\n{text}".split("\nunit ")[1:]
    told = (part.partition("\n") for part in parts)
    return {name: tuple(int(pid) for pid in body.split() if count(pid)) for name, _, body in told}


def _causes(text: str, token: str) -> dict[str, str]:
    parts = f"\n{text}".split(f"\n{token} unit ")[1:] if token else []
    return {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}
