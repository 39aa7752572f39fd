"""Cloud Run's API in memory: JSON, etags, operations that fail, and faults in the order given.

What it imitates stands in facts/cloud-run.md: section 1 (etag, conflict, a failed newest revision
leaves traffic where it was), section 2 (rows sum to 100, LATEST is the newest ready revision).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from meshctl.outside.gcp import AlreadyExists, ApiError, Cloud, Conflict, LostAnswer, NotFound

Json = dict[str, Any]
LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
Happening = Literal["conflict", "lost-before", "lost-after", "stranger", "overtaken"]
"""A stranger writes right before us, or right after us; lost answers are lost on either side."""


def _copy(document: Any) -> Any:
    """Nobody may change what the cloud remembers; JSON in, JSON out, and quicker than deepcopy."""
    return json.loads(json.dumps(document))


@dataclass
class FakeRunApi:
    """`calls` holds every call in order; `faults` happen to the next writes, one each, and
    `silences` are raised by the next reads, and `stale` is what services.get says first."""

    cloud: Cloud = field(default_factory=lambda: Cloud("local", "local1", "http://cloud.fake"))
    services: dict[str, Json] = field(default_factory=dict)
    revisions: dict[str, list[Json]] = field(default_factory=dict)
    policies: dict[str, Json] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    writes: list[tuple[list[str], Json]] = field(default_factory=list)
    faults: list[Happening | None] = field(default_factory=list)
    silences: list[Exception | None] = field(default_factory=list)
    stale: list[Json | None] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    unwilling: bool = False
    stranger: Callable[[FakeRunApi], None] = lambda _: None
    slow: int = 0

    # Reading.

    def get_service(self, name: str) -> Json | None:
        self._read("services.get")
        if self.stale:
            return _copy(self.stale.pop(0))
        found = self.services.get(name)
        if found is None:
            return None
        if self.slow:  # still on its way, this many readings long
            self.slow -= 1
            return _copy(found) | {"reconciling": True}
        return _copy(found)

    def list_services(self) -> list[Json]:
        self._read("services.list")
        return _copy(list(self.services.values()))

    def list_revisions(self, service: str) -> list[Json]:
        self._read("revisions.list" if service != "-" else "revisions.list -")
        names = list(self.revisions) if service == "-" else [service]
        return _copy([row for name in names for row in self.revisions.get(name, ())])

    def get_policy(self, name: str) -> Json:
        self._read("services.getIamPolicy")
        return _copy(self.policies.get(name, {"etag": "p0"}))

    def _read(self, call: str) -> None:
        self.calls.append(call)
        silence = self.silences.pop(0) if self.silences else None
        if silence is not None:
            raise silence

    # Writing.

    def create_service(self, name: str, body: Json) -> Json:
        self.calls.append("services.create")
        happening = self._happens()
        if name in self.services:
            raise AlreadyExists("ALREADY_EXISTS", f"Resource '{name}' already exists.")
        self.services[name] = {
            "name": self._path(name), "uri": f"http://{name}.fake", "generation": "0",
            "etag": "0", "traffic": [{"type": LATEST, "percent": 100}], "trafficStatuses": [],
            "labels": body.get("labels", {}), "scaling": body.get("scaling", {}),
        }  # fmt: skip
        return self._reconcile(name, body.get("template"), happening)

    def update_service(self, name: str, body: Json, mask: list[str]) -> Json:
        self.calls.append("services.patch " + ",".join(mask))
        happening = self._happens()
        service = self._existing(name)
        if happening == "conflict" or body.get("etag", service["etag"]) != service["etag"]:
            raise Conflict("ABORTED", "version 'A' was specified but current version is 'B'")
        rows = body.get("traffic", [])
        if "traffic" in mask and sum(row.get("percent", 0) for row in rows) != 100:
            raise ApiError("INVALID_ARGUMENT", "the total traffic percent should be 100")
        self.writes.append((mask, _copy(body)))
        if "traffic" in mask:
            service["traffic"] = _copy(rows)
        if "scaling.minInstanceCount" in mask:
            service["scaling"] = dict(body["scaling"])
        if "labels" in mask:
            service["labels"] = dict(body["labels"])
        return self._reconcile(
            name, body.get("template") if "template" in mask else None, happening
        )

    def delete_service(self, name: str, etag: str) -> None:
        self.calls.append("services.delete")
        happening = self._happens()
        if happening == "conflict" or etag != self._existing(name)["etag"]:
            raise Conflict("ABORTED", "the etag is another one")
        self.writes.append((["delete"], {}))
        if not self.unwilling:
            self.remove(name)
        self._lose(happening)

    def delete_revision(self, service: str, revision: str) -> None:
        raise AssertionError("no act deletes a revision")

    def set_policy(self, name: str, policy: Json) -> Json:
        self.calls.append("services.setIamPolicy")
        happening = self._happens()
        before = self.policies.get(name, {"etag": "p0"})
        if happening == "conflict" or policy.get("etag") != before["etag"]:
            raise Conflict("ABORTED", "the etag of the policy is another one")
        self.writes.append((["policy"], _copy(policy)))
        if not self.unwilling:
            self.policies[name] = _copy(policy) | {"etag": before["etag"] + "+"}
        self._lose(happening)
        return self.policies.get(name, before)

    # The platform itself.

    def _happens(self) -> Happening | None:
        happening = self.faults.pop(0) if self.faults else None
        if happening == "lost-before":
            raise LostAnswer("no answer from the cloud")
        if happening == "stranger":
            self.stranger(self)
        return happening

    def _lose(self, happening: Happening | None) -> None:
        if happening == "lost-after":
            raise LostAnswer("no answer from the cloud")

    def _reconcile(self, name: str, template: Json | None, happening: Happening | None) -> Json:
        service = self.services[name]
        self.touch(name)
        problem = self._revise(name, template) if template else None
        problem = problem or self._route(name)
        service["observedGeneration"] = service["generation"]
        state = "CONDITION_FAILED" if problem else "CONDITION_SUCCEEDED"
        service["terminalCondition"] = {"state": state, "message": problem or ""}
        self._lose(happening)
        if problem:
            raise ApiError("FAILED_PRECONDITION", problem)
        answer = _copy(service)
        if happening == "overtaken":
            self.stranger(self)
        return answer

    def _revise(self, name: str, template: Json) -> str | None:
        short = template["revision"]
        known = self.revisions.setdefault(name, [])
        assert short not in [r["name"].rpartition("/")[2] for r in known], "a name is used once"
        ready = short not in self.broken
        path = f"{self._path(name)}/revisions/{short}"
        state = "CONDITION_SUCCEEDED" if ready else "CONDITION_FAILED"
        document = _copy(template) | {
            "name": path, "service": self._path(name),
            "conditions": [{"type": "Ready", "state": state, "message": "boom"}],
        }  # fmt: skip
        known.insert(0, document)
        self.services[name]["latestCreatedRevision"] = path
        if not ready:
            return f"Revision '{short}' is not ready and cannot serve traffic."
        self.services[name]["latestReadyRevision"] = path
        return None

    def _route(self, name: str) -> str | None:
        service = self.services[name]
        ready = {
            r["name"].rpartition("/")[2]
            for r in self.revisions[name]
            if r["conditions"][0]["state"] == "CONDITION_SUCCEEDED"
        }
        for row in service["traffic"]:
            if row.get("revision") and row["revision"] not in ready:
                return f"Revision '{row['revision']}' is not ready and cannot serve traffic."
        service["trafficStatuses"] = [
            row | ({"uri": f"http://{row['tag']}---{name}.fake"} if row.get("tag") else {})
            for row in _copy(service["traffic"])
        ]
        return None

    def move(self, name: str, rows: list[Json], who: str = "") -> None:
        """Traffic moved by somebody else, and settled."""
        self.services[name]["traffic"] = rows
        self.services[name]["lastModifier"] = who
        self._route(name)
        self.touch(name)

    def add_revision(self, name: str, template: Json) -> None:
        """A revision made by somebody else."""
        self._revise(name, template)

    def remove(self, name: str) -> None:
        """The service with its revisions and its policy."""
        for part in (self.services, self.revisions, self.policies):
            part.pop(name, None)

    def touch(self, name: str) -> None:
        """Any change of the service: a new etag, a new generation, and settled in it."""
        service = self.services[name]
        service["generation"] = str(int(service["generation"]) + 1)
        service["observedGeneration"] = service["generation"]
        service["etag"] = str(int(service["etag"]) + 1)

    def _existing(self, name: str) -> Json:
        if name not in self.services:
            raise NotFound("NOT_FOUND", f"Resource '{name}' was not found.")
        return self.services[name]

    def _path(self, name: str) -> str:
        return f"{self.cloud.parent}/services/{name}"
