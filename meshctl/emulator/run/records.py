"""What is remembered of services and revisions, and where it lies on disk."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from meshctl.emulator import disk

PENDING, READY, FAILED = "pending", "ready", "failed"


@dataclass
class Outcome:
    """A condition's state with message, reason and the microsecond it began."""

    state: str = "CONDITION_RECONCILING"
    message: str = ""
    reason: dict[str, str] = field(default_factory=dict)
    since: int = 0


@dataclass
class Revision:
    """One revision: its filled template with the image resolved, and how its check went."""

    project: str
    location: str
    service: str
    name: str
    generation: int
    template: dict[str, Any]
    created: int
    launch_stage: str = "GA"
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    updated: int = 0
    state: str = PENDING
    message: str = ""
    code: int = 0
    reason: dict[str, str] = field(default_factory=dict)
    digest: str = ""
    skipped_check: bool = False
    asked_images: list[str] = field(default_factory=list)  # as requested, before they are resolved
    unready_s: float | None = None  # an ordered fault: never ready (0), or failed after so long

    @property
    def held(self) -> bool:
        """Whether an ordered fault keeps it from ever being decided."""
        return self.state == PENDING and self.unready_s == 0

    @property
    def parent(self) -> str:
        """The full name of its service."""
        return f"projects/{self.project}/locations/{self.location}/services/{self.service}"

    @property
    def full_name(self) -> str:
        """The full resource name."""
        return f"{self.parent}/revisions/{self.name}"


@dataclass
class Service:
    """One service: what was asked (`spec`), what serves (`statuses`), how it stands."""

    project: str
    location: str
    id: str
    spec: dict[str, Any]
    created: int
    updated: int
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    generation: int = 0
    observed: int = 0
    counter: int = 0
    latest_created: str = ""
    latest_ready: str = ""
    statuses: list[dict[str, Any]] = field(default_factory=list)
    ready: Outcome = field(default_factory=Outcome)
    routes: Outcome = field(default_factory=Outcome)
    configurations: Outcome = field(default_factory=Outcome)
    policy: dict[str, Any] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)  # tag ("" = the service) -> port
    revisions: dict[str, Revision] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The full resource name."""
        return f"projects/{self.project}/locations/{self.location}/services/{self.id}"

    @property
    def reconciling(self) -> bool:
        """Whether the newest wish is still being worked on."""
        return self.ready.state == "CONDITION_RECONCILING"


class Catalogue:
    """All services with their revisions, in memory and on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.services: dict[str, Service] = {}
        for path in sorted(folder.glob("*/*/*/service.json")):
            service = _service(disk.read_json(path))
            rows = [_revision(row) for row in disk.read_all(path.parent / "revisions")]
            # Written for an update that a kill cut off before the service itself was.
            rows = [row for row in rows if row.generation <= service.generation]
            service.revisions = {r.name: r for r in sorted(rows, key=lambda r: r.created)}
            self.services[service.name] = service

    def _place(self, project: str, location: str, service: str) -> Path:
        return self._folder / project / location / service

    def save(self, service: Service) -> None:
        """Write a service down; its revisions have files of their own."""
        self.services[service.name] = service
        row = {k: v for k, v in asdict_shallow(service).items() if k != "revisions"}
        place = self._place(service.project, service.location, service.id)
        disk.write_json(place / "service.json", row)

    def save_revision(self, service: Service, revision: Revision) -> None:
        """Write a revision down and keep it with its service."""
        service.revisions[revision.name] = revision
        place = self._place(service.project, service.location, service.id)
        disk.write_json(place / "revisions" / f"{revision.name}.json", asdict(revision))

    def drop_revision(self, service: Service, name: str) -> None:
        """Forget one revision."""
        service.revisions.pop(name, None)
        place = self._place(service.project, service.location, service.id)
        disk.remove(place / "revisions" / f"{name}.json")

    def drop(self, service: Service) -> None:
        """Forget a service with all its revisions."""
        self.services.pop(service.name, None)
        disk.remove(self._place(service.project, service.location, service.id))

    def ports(self) -> set[int]:
        """Every port any service remembers."""
        return {port for service in self.services.values() for port in service.ports.values()}


def asdict_shallow(service: Service) -> dict[str, Any]:
    """The service's fields with its outcomes as plain values, without copying revisions."""
    row = dict(vars(service))
    for key in ("ready", "routes", "configurations"):
        row[key] = asdict(row[key])
    return row


def _service(row: dict[str, Any]) -> Service:
    for key in ("ready", "routes", "configurations"):
        row[key] = Outcome(**row[key])
    return Service(**row)


def _revision(row: dict[str, Any]) -> Revision:
    return Revision(**row)
