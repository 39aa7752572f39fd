"""How services and revisions look in answers."""

from __future__ import annotations

from typing import Any

from meshctl.emulator.moment import etag, rfc3339
from meshctl.emulator.run.records import FAILED, PENDING, Outcome, Revision, Service

SERVICE_TYPE = "type.googleapis.com/google.cloud.run.v2.Service"
REVISION_TYPE = "type.googleapis.com/google.cloud.run.v2.Revision"
OK, BAD, BUSY = "CONDITION_SUCCEEDED", "CONDITION_FAILED", "CONDITION_RECONCILING"


def url(port: int) -> str:
    """The loopback URL of a front."""
    return f"http://127.0.0.1:{port}"


def _condition(kind: str, outcome: Outcome) -> dict[str, Any]:
    """facts s1: a succeeded condition carries no reason."""
    out: dict[str, Any] = {
        "type": kind,
        "state": outcome.state,
        "lastTransitionTime": rfc3339(outcome.since),
    }
    if outcome.message:
        out["message"] = outcome.message
    if outcome.state != OK:
        out |= outcome.reason
    if outcome.state == BAD:
        out["severity"] = "ERROR"
    return out


def service(record: Service) -> dict[str, Any]:
    """A Service as read; false and empty values are left out as proto3 JSON does."""
    out: dict[str, Any] = {
        "name": record.name,
        "uid": record.uid,
        "generation": str(record.generation),
        **record.spec,
        "createTime": rfc3339(record.created),
        "updateTime": rfc3339(record.updated),
        "observedGeneration": str(record.observed),
        # facts s1: Ready is apart; conditions holds only these two.
        "terminalCondition": _condition("Ready", record.ready),
        "conditions": [
            _condition("RoutesReady", record.routes),
            _condition("ConfigurationsReady", record.configurations),
        ],
        "trafficStatuses": [_status(record, row) for row in record.statuses],
        "etag": etag(record.updated, record.name),
    }
    return out | _when_known(record)


def _when_known(record: Service) -> dict[str, Any]:
    """The fields that are left out until they have a value."""
    out: dict[str, Any] = {"reconciling": True} if record.reconciling else {}
    # facts s1: latest revisions are FULL names here, traffic carries the short ones.
    for key, short in (
        ("latestCreatedRevision", record.latest_created),
        ("latestReadyRevision", record.latest_ready),
    ):
        if short:
            out[key] = f"{record.name}/revisions/{short}"
    if "" in record.ports and not record.spec.get("defaultUriDisabled"):
        out["uri"] = url(record.ports[""])
        out["urls"] = [out["uri"]]
    return out


def _status(record: Service, row: dict[str, Any]) -> dict[str, Any]:
    """facts s2: an untagged LATEST row shows neither revision nor uri; tags carry theirs."""
    if row.get("tag") in record.ports:
        return row | {"uri": url(record.ports[row["tag"]])}
    return row


def revision(record: Revision, service: Service, floor: int, warm: int) -> dict[str, Any]:
    """A Revision as read; floor = instances to keep, warm = instances running."""
    template = {k: v for k, v in record.template.items() if k not in ("revision",)}
    template.pop("healthCheckDisabled", None)
    active = _is_active(record, service, floor)
    out: dict[str, Any] = {
        "name": record.full_name,
        "uid": record.uid,
        "generation": "1",
        **template,
        "service": record.service,
        "launchStage": record.launch_stage,
        "createTime": rfc3339(record.created),
        "updateTime": rfc3339(record.updated or record.created),
        "conditions": conditions(record, active, floor, warm),
        "observedGeneration": "1",
        "scalingStatus": {"desiredMinInstanceCount": floor} if floor else {},
        "etag": etag(record.updated or record.created, record.full_name),
    }
    if record.state == PENDING:
        out["reconciling"] = True
    return out


def _is_active(record: Revision, service: Service, floor: int) -> bool:
    rows = service.statuses
    percent = {row.get("revision") or service.latest_ready for row in rows if row.get("percent")}
    return record.name in percent or floor > 0


def conditions(record: Revision, active: bool, floor: int, warm: int) -> list[dict[str, Any]]:
    """The conditions really seen on revisions (facts s1)."""
    since = record.updated or record.created
    if record.state == PENDING:
        busy = Outcome(BUSY, since=since)
        return [_condition(kind, busy) for kind in ("Ready", "ContainerHealthy")]
    if record.state == FAILED:
        return _failed(record, since)
    return _healthy(since, warming=warm < floor) if active else _retired(since)


def _failed(record: Revision, since: int) -> list[dict[str, Any]]:
    bad = Outcome(BAD, record.message, record.reason, since)
    kinds = ["Ready"]
    if record.reason.get("revisionReason") == "HEALTH_CHECK_CONTAINER_ERROR":
        kinds.append("ContainerHealthy")
    return [_condition(kind, bad) for kind in kinds]


def _healthy(since: int, warming: bool) -> list[dict[str, Any]]:
    good = Outcome(OK, since=since)
    kinds = ("Ready", "Active", "ContainerHealthy", "ContainerReady", "ResourcesAvailable")
    # facts s3: below its minimum a revision sits at MinInstancesProvisioned Unknown, Warming.
    warm_up = Outcome(BUSY, reason={"revisionReason": "MIN_INSTANCES_WARMING"}, since=since)
    rows = [_condition(kind, good) for kind in kinds]
    return [*rows, _condition("MinInstancesProvisioned", warm_up if warming else good)]


def _retired(since: int) -> list[dict[str, Any]]:
    """facts s1: a healthy candidate without traffic; "Active is FAILED" is not unhealthy."""
    retired = {"revisionReason": "RETIRED"}
    unprovisioned = {"revisionReason": "MIN_INSTANCES_NOT_PROVISIONED"}
    time = rfc3339(since)
    base = {"lastTransitionTime": time}
    return [
        {"type": "Ready", "state": OK, **retired, **base},
        {"type": "Active", "state": BAD, "severity": "INFO", **retired, **base},
        {"type": "ContainerHealthy", "state": OK, **base},
        {"type": "ContainerReady", "state": OK, **base},
        {"type": "ResourcesAvailable", "state": BUSY, **retired, **base},
        {
            "type": "MinInstancesProvisioned",
            "state": BAD,
            "severity": "INFO",
            **unprovisioned,
            **base,
        },
    ]
