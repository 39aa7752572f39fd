"""Proves that a release can run on its host before anything there is stopped; brings the image.

Everything that can be known beforehand is asked here: room, port, cards, image, payloads, secrets,
and whether podman's generator and systemd take the unit at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshctl.errors import Refused
from meshctl.outside.ssh import Command
from meshctl.plan.steps import StageRelease
from meshctl.plan.unit_template import (
    files_needed,
    folders_needed,
    is_quadlet,
    listens,
    secrets_needed,
)
from meshctl.targets.podman import scripts
from meshctl.targets.podman.known_keys import too_new
from meshctl.targets.podman.needs import LEAST_PODMAN, cards_needed
from meshctl.targets.podman.readings.gates import gates
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.look import Asked
from meshctl.targets.podman.readings.need import GateFinding, Need
from meshctl.targets.podman.readings.value import Known
from meshctl.targets.podman.scripts import extension, written

if TYPE_CHECKING:
    from meshctl.targets.podman.target import HostTarget

PULL_S = 3600.0
"""Longest pull of an image: 20 GB over a line of 50 Mbit/s."""
HASH_S = 3600.0
"""Longest proof of payloads; a disk reads 500 GB in about an hour at the least speed of one."""
LEAST_FREE = 64 * 2**20
"""Bytes on the disks that are written to: units and what is kept are some kilobytes."""


def stage(target: HostTarget, service: str, act: StageRelease) -> dict[str, Any]:
    """What was proved, as evidence. Raises Refused with every gate that does not hold."""
    if act.again:
        image = _brought(target, act.image) if act.image else {}
        return {"image": image, "files": _proved(target, service, act)}
    seen = target.host_seen(_asked(target, service, act))
    need = _need(target, service, act)
    _refuse_too_new(target, seen, act.unit)
    found = gates(seen, need, seen.pids_of(f"{service}.service"))
    _refuse(target, [one for one in found if one.verdict != "pass" and one.name != "image"])
    image = _brought(target, act.image) if act.image else {}
    proved = _proved(target, service, act)
    return {"image": image, "files": proved, "gates": {g.name: g.evidence for g in found}}


def _asked(target: HostTarget, service: str, act: StageRelease) -> Asked:
    return Asked(
        user=target.place.user,
        units=(f"{service}.service",),
        files=tuple(act.objects[name] for name in act.files),
        folders=("/var/lib",),
    )


def _need(target: HostTarget, service: str, act: StageRelease) -> Need:
    contained = is_quadlet(act.unit)
    return Need(
        service=service,
        unit=f"{service}.service",
        container=service if contained else "",
        user=target.place.user,
        unified_memory=target.place.unified_memory,
        cards=cards_needed(target.place),
        disk={"/": LEAST_FREE, "/var/lib": LEAST_FREE},
        ports=tuple(int(place.rpartition(":")[2]) for place in listens(act.unit)),
        image=act.image.partition("@")[2] if contained else "",
        files={act.objects[name]: size for name, (size, _) in act.files.items()},
        podman=LEAST_PODMAN if contained else (),
    )


def _refuse(target: HostTarget, failed: list[GateFinding]) -> None:
    if not failed:
        return
    told = "; ".join(f"{one.name}: {one.evidence}" for one in failed)
    hint = failed[0].hint or f"`meshctl host check {target.name}` says the same at any time"
    raise Refused(told, place=target.name, hint=hint)


def _refuse_too_new(target: HostTarget, seen: HostSeen, unit: str) -> None:
    """The generator drops a whole unit for one key that it does not know, and says so to nobody."""
    if not is_quadlet(unit) or not isinstance(seen.podman, Known):
        return
    unknown = too_new(unit, seen.podman.value)
    if unknown:
        keys = ", ".join(f"{one.key} (since {one.since or 'unknown'})" for one in unknown)
        message = f"podman {seen.podman.value} there does not know {keys}"
        hint = "upgrade podman on the host, or leave out what needs it"
        raise Refused(message, place=target.name, hint=hint)


def _brought(target: HostTarget, image: str) -> dict[str, Any]:
    """The image on the host, pulled by its digest where it is not there yet. podman compares what
    it pulls with the digest that it was asked for."""
    if _has(target, image):
        return {"reference": image, "proved": "there by its digest"}
    target.note(f"pulling {image}")
    told = target.run(Command(("podman", "pull", "-q", image), timeout_s=PULL_S))
    if told.ok and _has(target, image):
        return {"reference": image, "proved": "pulled by its digest"}
    why = " ".join((told.err.strip() or told.out.strip() or f"exit {told.code}").split())
    raise Refused(
        f"image {image} is not on {target.name} and cannot be pulled there: {why[-300:]}",
        place=target.name,
        hint=f"bring it: `podman save --format oci-archive {image} | ssh {target.place.address} "
        "podman load`, or log in to its registry there",
    )


def _has(target: HostTarget, image: str) -> bool:
    return target.run(Command(("podman", "image", "exists", image))).ok


def _proved(target: HostTarget, service: str, act: StageRelease) -> dict[str, Any]:
    text = written(
        scripts.PROVE,
        target.whose,
        service,
        text=act.unit,
        ext=extension(act.unit),
        secrets=" ".join(secrets_needed(act.unit)),
        needed=" ".join((*files_needed(act.unit), *folders_needed(act.unit))),
    )
    words = [str(int(HASH_S))]
    for name, (size, sha256) in sorted(act.files.items()):
        words += [act.objects[name], str(size), sha256]
    if act.files:
        target.note(f"proving {len(act.files)} payload files on {target.name}")
    target.carry_out("it cannot run there", text, *words, longest_s=HASH_S)
    return {name: {"bytes": size, "sha256": sha} for name, (size, sha) in act.files.items()}
