"""Observes a host and performs one act on a service there.

Every write is read, compared and written with the digest of what was read, in one script on the
host (`scripts.py`); what follows from it is waited for here, for a model may take minutes to load.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.chance import salt
from meshctl.outside.clock import Clock
from meshctl.outside.http import Http
from meshctl.outside.interrupts import Interrupts
from meshctl.outside.shell import Result
from meshctl.outside.ssh import Command, script
from meshctl.plan.observed import Revision, ServiceSeen, TargetSeen
from meshctl.plan.steps import (
    Act,
    CheckRelease,
    Remember,
    RetireService,
    StageRelease,
    StartRevision,
    StopRevision,
)
from meshctl.plan.unit_template import listens, marked
from meshctl.spec.model import PodmanTarget
from meshctl.targets.podman import scripts
from meshctl.targets.podman.readings.freed import held_bytes, still_held
from meshctl.targets.podman.readings.host import HostSeen, parse
from meshctl.targets.podman.readings.look import LOOK, Asked, arguments
from meshctl.targets.podman.readings.unit import UnitSeen
from meshctl.targets.podman.scripts import extension, written
from meshctl.targets.podman.services import NAME, Place, read_places
from meshctl.targets.podman.serving import Patience, Serving
from meshctl.targets.target import Address, Assure, Witness, nothing

STOP_S = 240.0
"""Longest stop: systemd kills after TimeoutStopSec (90 s), podman after its own ten; twice that."""
FREE_S = 120.0
"""Longest wait for a card whose processes are gone; a driver takes seconds. A guess."""


class Door(Protocol):
    """The way to a host; `outside/ssh.Hosts` is one."""

    def run(self, address: str, command: Command) -> Result: ...

    def forward(self, address: str, host: str, port: int) -> int:
        """A port of this machine that leads to HOST:PORT as the host itself sees it."""
        ...


class HostTarget:
    """One host; `note` hears what is waited for."""

    def __init__(
        self,
        name: str,
        place: PodmanTarget,
        door: Door,
        http: Http,
        clock: Clock,
        *,
        interrupts: Interrupts | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name, self.place, self.door, self.http, self.clock = name, place, door, http, clock
        self.note = note
        self.whose = "user" if place.user else "system"
        self._interrupts = interrupts or Interrupts()
        self._begun: dict[str, UnitSeen] = {}

    @property
    def host(self) -> str:
        """Its name for a URL, without whom ssh logs in."""
        return self.place.address.rpartition("@")[2]

    def observe(self, services: Sequence[str], *, access: bool = True) -> TargetSeen:
        try:
            found = self._places(tuple(services))
        except Unreachable as error:
            return TargetSeen(name=self.name, services={}, unknown=error.message)
        return TargetSeen(name=self.name, services={name: p.seen for name, p in found.items()})

    def look(self, service: str) -> ServiceSeen | None:
        return self._place(service).seen

    def perform(self, service: str, act: Act, run: str, assure: Assure = nothing) -> dict[str, Any]:
        patience = Patience(self.clock, self._interrupts, assure)
        match act:
            case StopRevision():
                return self._stop(service, act, patience)
            case StartRevision():
                return self._start(service, act, patience)
            case RetireService():
                return self._remove(service, act, assure)
            case Remember():
                return self._remember(service, act, assure)
            case _:
                raise TypeError(f"{act.act} is not for a host")

    def address(self, service: str, check: CheckRelease) -> Address:
        """By a tunnel, so that the host's own loopback is asked, whatever stands between."""
        seen = self.look(service)
        revision = seen.revision(check.revision) if seen else None
        if revision is None:
            hint = "see `meshctl status`"
            raise Refused(f"{service} has no {check.revision} there", place=self.name, hint=hint)
        return Address(self._tunnel(revision), None)

    def witness(self, service: str) -> Witness:
        """Whether the unit ran on while it was asked, and since it was started here: an engine that
        dies at every tenth request answers in between."""
        before = self._begun.get(service) or self._watch(service)
        return lambda: Serving.ran_on(before, self._watch(service))

    def stage(self, service: str, act: StageRelease) -> dict[str, Any]:
        """Prove that it can run there; changes nothing that runs. Raises Refused."""
        from meshctl.targets.podman.staging import stage

        return stage(self, service, act)

    def host_seen(self, asked: Asked) -> HostSeen:
        """The host as gates see it. Raises Unreachable."""
        mark = _mark()
        told = self.run(script(LOOK, *arguments(asked, mark)))
        seen = parse(told.out, mark)
        if not seen.whole:
            raise self._unreadable(told)
        return seen

    def run(self, command: Command) -> Result:
        """One command there. Raises Unreachable, Refused."""
        return self.door.run(self.place.address, command)

    def carry_out(self, what: str, text: str, *words: str, longest_s: float = 60.0) -> str:
        """Run a script that writes; what it says. Raises Refused with its own reason: it says no
        before it changes anything, but where the reason itself says otherwise."""
        told = self.run(script(text, *words, timeout_s=longest_s))
        if told.ok:
            return told.out
        said = " ".join((told.err.strip() or told.out.strip() or f"exit {told.code}").split())
        hints = {
            scripts.CHANGED: "somebody else is at work there: look at it, then plan again",
            scripts.BUSY: "try again when that is over",
            scripts.NOT_WRITTEN: f"`meshctl host list {self.name}` shows its disk; for units of "
            "the system ssh must log in as root",
        }
        hint = hints.get(told.code, f"`meshctl host check {self.name}` says how the host is")
        raise Refused(f"{what}: {said[:400]}", place=self.name, hint=hint)

    def _stop(self, service: str, act: StopRevision, patience: Patience) -> dict[str, Any]:
        place = self._place(service)
        standing = place.standing
        if standing is None or standing.revision == act.by != act.revision:
            return {"stopped": False}  # it was replaced before: done twice it changes nothing more
        self._must_be(service, place, (act.revision,), act.release.id)
        unit = Asked(user=self.place.user, units=(f"{service}.service",))
        before = self.host_seen(unit)
        patience.assure()
        began = self.clock.monotonic()
        self._begun.pop(service, None)
        words = (act.revision, standing.ext, standing.sha256)
        text = written(scripts.STOP, self.whose, service)
        self.carry_out(f"{act.revision} was not stopped", text, *words, longest_s=STOP_S)
        freed = self._until_free(before, unit, patience, before.pids_of(f"{service}.service"))
        return {"stopped": True, "seconds": round(self.clock.monotonic() - began, 1), **freed}

    def _until_free(
        self, before: HostSeen, asked: Asked, patience: Patience, pids: frozenset[int]
    ) -> dict[str, Any]:
        """Raises Refused when its memory does not come free."""
        if not self.place.gpus:
            return {"cards": None}
        deadline, earlier = self.clock.monotonic() + FREE_S, before
        while True:
            now = self.host_seen(asked)
            held = still_held(earlier, now, pids)
            if not held:
                return {"cards": held_bytes(now), "cards_before": held_bytes(before)}
            if self.clock.monotonic() > deadline:
                hint = f"`meshctl host check {self.name}` shows who holds it"
                raise Refused(f"its memory did not come free: {held}", place=self.name, hint=hint)
            self.note(f"waiting for memory: {held}")
            earlier = now
            patience.wait()

    def _start(self, service: str, act: StartRevision, patience: Patience) -> dict[str, Any]:
        place = self._place(service)
        names = (act.revision, act.instead_of or act.revision)
        if place.standing is not None:
            self._must_be(service, place, names)
        kept = place.seen.revision(act.revision) if place.seen else None
        if kept is not None and kept.release != act.release.id:
            message = f"{act.revision} is another release on the host by now: {kept.release}"
            raise Refused(message, place=self.name, hint="plan again")
        unit = act.release.template.unit
        ext = extension(unit)
        was_ext, sha256 = ext, "none"
        if place.standing is not None:
            was_ext, sha256 = place.standing.ext, place.standing.sha256
        patience.assure()
        began = self.clock.monotonic()
        text = written(scripts.START, self.whose, service, text=marked(unit, act.release.id))
        words = (act.revision, ext, was_ext, sha256)
        self.carry_out(f"{act.revision} was not started", text, *words, longest_s=STOP_S)
        self._begun[service] = self._until_it_serves(service, act, patience)
        seconds = round(self.clock.monotonic() - began, 1)
        return {"revision": act.revision, "release": act.release.id, "seconds": seconds}

    def _until_it_serves(self, service: str, act: StartRevision, patience: Patience) -> UnitSeen:
        seen = self._place(service).seen
        revision = seen.revision(act.revision) if seen else None
        if revision is None or revision.release != act.release.id:
            message = f"what stands there after the start is not {act.release.id}"
            raise Refused(message, place=self.name, hint="somebody else is at work there")
        probe = revision.template.probe
        serving = Serving(f"{service}.service", self.clock.monotonic(), probe)
        answers = self._answers(revision)
        while True:
            unit = self._watch(service)
            serving.judge(unit, self.clock.monotonic(), place=self.name)
            if unit.active == "active" and answers():
                return unit
            self.note(f"waiting for {act.revision}: {unit.active} ({unit.sub})")
            patience.wait()

    def _answers(self, revision: Revision) -> Callable[[], bool]:
        from meshctl.outside.http import Request

        path = revision.template.probe.path
        if path is None or not listens(revision.template.unit):
            return lambda: True
        url = self._tunnel(revision) + path

        def asked() -> bool:
            """404 says that it answers, and has no such path; 503 that it still loads."""
            try:
                status = self.http.send(Request(url), timeout_s=5.0).status
            except MeshctlError:
                return False
            return status < 300 or status == 404

        return asked

    def _tunnel(self, revision: Revision) -> str:
        places = listens(revision.template.unit)
        if not places:
            message = f"{revision.name} does not say where it listens"
            hint = "declare `ports` in the fleet file, and deploy it"
            raise Refused(message, place=self.name, hint=hint)
        ip, _, port = places[0].rpartition(":")
        inside = "127.0.0.1" if ip in ("", "0.0.0.0") else ip
        return f"http://127.0.0.1:{self.door.forward(self.place.address, inside, int(port))}"

    def _remove(self, service: str, act: RetireService, assure: Assure) -> dict[str, Any]:
        place = self._place(service)
        if place.seen is None:
            return {"removed": True}
        if place.standing is not None and place.standing.revision != act.revision:
            return {"removed": False}  # somebody else's
        file = place.files.get(act.revision, "")
        ext = place.standing.ext if place.standing else file.rpartition(".")[2] or "container"
        assure()
        self._begun.pop(service, None)
        text = written(scripts.REMOVE, self.whose, service)
        what = f"{act.revision} was not removed"
        self.carry_out(what, text, act.revision, ext, longest_s=STOP_S)
        return {"removed": True}

    def _remember(self, service: str, act: Remember, assure: Assure) -> dict[str, Any]:
        """The labels of a service lie in a file there; of what is kept that stays which they name,
        or which stands."""
        place = self._place(service)
        if place.seen is None:
            return {"labels": 0}
        passed = {key.removeprefix("meshctl-") for key in act.labels}
        stands = place.standing.revision if place.standing else ""
        spared = [
            file
            for revision, file in place.files.items()
            if revision == stands or _release_of(place, revision) in passed
        ]
        assure()
        text = json.dumps(act.labels, sort_keys=True, indent=1) + "\n"
        body = written(scripts.REMEMBER, self.whose, service, text=text)
        self.carry_out("what passed was not written down there", body, *spared)
        return {"labels": len(act.labels)}

    def _must_be(
        self, service: str, place: Place, names: tuple[str, ...], release: str = ""
    ) -> None:
        """Raises Refused where somebody else put something else there meanwhile."""
        standing, seen = place.standing, place.seen
        revision = seen.revision(standing.revision) if standing and seen else None
        if revision and revision.name in names and release in ("", revision.release):
            return
        what = revision.name if revision else "nothing"
        raise Refused(
            f"{service} is not as it was: {what} stands there",
            place=self.name,
            hint="somebody else changed it meanwhile; look at it, then plan again",
        )

    def _place(self, service: str) -> Place:
        return self._places((service,))[service]

    def _places(self, names: tuple[str, ...]) -> dict[str, Place]:
        """Raises Unreachable: what was not read is unknown, never absent."""
        for name in names:
            if not NAME.fullmatch(name):
                hint = "lowercase letters, digits and . _ -"
                raise Refused(f"{name!r} cannot name a unit", place=self.name, hint=hint)
        mark = _mark()
        told = self.run(script(scripts.READ, mark, self.whose, "8", *names))
        try:
            return read_places(told.out, mark, names, self.host)
        except ValueError:
            raise self._unreadable(told) from None

    def _watch(self, service: str) -> UnitSeen:
        asked, mark = Asked(user=self.place.user, units=(f"{service}.service",)), _mark()
        told = self.run(script(scripts.WATCH, *arguments(asked, mark)))
        found = parse(told.out, mark).units
        units = getattr(found, "value", ())
        if not units:
            raise self._unreadable(told)
        unit: UnitSeen = units[0]
        return unit

    def _unreadable(self, told: Result) -> Unreachable:
        said = told.err.strip() or f"it ended with {told.code}"
        return Unreachable(
            f"{self.name} answered what cannot be read: {said[:200]}",
            place=self.place.address,
            hint=f"try `ssh {self.place.address} uname -a`",
        )


def _release_of(place: Place, revision: str) -> str:
    found = place.seen.revision(revision) if place.seen else None
    return found.release if found else ""


def _mark() -> str:
    return f"@{salt()}{salt()}"
