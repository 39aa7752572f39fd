"""Services and revisions as documents of serving.knative.dev/v1, and back (facts s10). Pure."""

from __future__ import annotations

import json
from typing import Any

from meshctl.emulator.failures import invalid
from meshctl.emulator.knative import conditions, spelling, templates
from meshctl.emulator.run.schema import LATEST, REVISION

Json = dict[str, Any]
VERSION = "serving.knative.dev/v1"
SERVICE_LABEL = "serving.knative.dev/service"
LOCATION_LABEL = "cloud.googleapis.com/location"
SERVICE_TYPE = "type.googleapis.com/google.cloud.run.v1.Service"


def service(found: Json, resource_version: str, operation: str | None = None) -> Json:
    """A v2 Service as v1 shows it; `operation` is what a client may wait for."""
    _, project, _, location, _, name = found["name"].split("/")
    metadata = _metadata(found, name, project, resource_version) | {
        "annotations": _service_annotations(found, operation),
        "labels": {**found.get("labels", {}), LOCATION_LABEL: location},
    }
    spec = {
        "template": templates.to_v1(found["template"]),
        "traffic": [_row_v1(row) for row in found.get("traffic", [])],
    }
    return {
        "apiVersion": VERSION,
        "kind": "Service",
        "metadata": metadata,
        "spec": spec,
        "status": _status(found),
    }


def _metadata(found: Json, name: str, project: str, resource_version: str) -> Json:
    return {
        "name": name,
        "namespace": project,
        "uid": found["uid"],
        "selfLink": f"/apis/{VERSION}/namespaces/{project}/services/{name}",
        "generation": int(found["generation"]),
        "resourceVersion": resource_version,
        "creationTimestamp": found["createTime"],
    }


def _service_annotations(found: Json, operation: str | None) -> dict[str, str]:
    out = spelling.annotations_of(found, spelling.SERVICE)
    out[f"{spelling.RUN}ingress-status"] = out.get(f"{spelling.RUN}ingress", "all")
    if found.get("urls"):
        out[f"{spelling.RUN}urls"] = json.dumps(found["urls"])
    if operation:
        out[f"{spelling.RUN}operation-id"] = operation.rpartition("/")[2]
    return out


def _status(found: Json) -> Json:
    rows = [found["terminalCondition"], *found.get("conditions", [])]
    status: Json = {
        "observedGeneration": int(found.get("observedGeneration", 0)),
        "conditions": [conditions.to_v1(row) for row in rows],
        "traffic": [_seen_v1(row, found) for row in found.get("trafficStatuses", [])],
    }
    for key, name in (
        ("latestReadyRevision", "latestReadyRevisionName"),
        ("latestCreatedRevision", "latestCreatedRevisionName"),
    ):
        if found.get(key):
            status[name] = found[key].rpartition("/")[2]
    if found.get("uri"):
        status |= {"url": found["uri"], "address": {"url": found["uri"]}}
    return status


def _row_v1(row: Json) -> Json:
    out: Json = {"percent": row["percent"]} if row.get("percent") else {}
    if row.get("tag"):
        out["tag"] = row["tag"]
    latest = row.get("type") == LATEST
    return out | ({"latestRevision": True} if latest else {"revisionName": row["revision"]})


def _seen_v1(row: Json, found: Json) -> Json:
    """In the status v1 names the revision that LATEST stands for, where v2 does not."""
    latest = found.get("latestReadyRevision", "").rpartition("/")[2]
    out = _row_v1(row) | {"revisionName": row.get("revision") or latest}
    return out | ({"url": row["uri"]} if row.get("uri") else {})


def revision(found: Json, resource_version: str) -> Json:
    """A v2 Revision as v1 shows it."""
    _, project, _, location, _, owner, _, name = found["name"].split("/")
    labels = {**found.get("labels", {}), SERVICE_LABEL: owner, LOCATION_LABEL: location}
    metadata = _metadata(found, name, project, resource_version) | {
        "selfLink": f"/apis/{VERSION}/namespaces/{project}/revisions/{name}",
        "annotations": templates.template_annotations(found),
        "labels": labels,
    }
    image = found["containers"][0]["image"]
    status = {
        "observedGeneration": 1,
        "conditions": [conditions.to_v1(row) for row in found["conditions"]],
        "imageDigest": image,
        "serviceName": owner,
    }
    return {
        "apiVersion": VERSION,
        "kind": "Revision",
        "metadata": metadata,
        "spec": templates.spec_v1(found),
        "status": status,
    }


def listed(kind: str, items: list[Json]) -> Json:
    """A list; gcloud reads metadata.continue, so that metadata must be there."""
    return {"apiVersion": VERSION, "kind": kind, "metadata": {}, "items": items}


def wishes(document: Json) -> Json:
    """The v2 body of a v1 Service; what the server itself writes is left out."""
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    if not spec.get("template"):
        raise invalid("Revision template was empty", "spec.template")
    notes = metadata.get("annotations") or {}
    body = spelling.fields_of(notes, spelling.SERVICE, "metadata.annotations")
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != LOCATION_LABEL}
    body |= {"labels": labels} if labels else {}
    body["template"] = templates.to_v2(spec["template"], "spec.template")
    body["traffic"] = [_row_v2(row) for row in spec.get("traffic") or []]
    return body


def _row_v2(row: Json) -> Json:
    out: Json = {key: row[key] for key in ("percent", "tag") if row.get(key)}
    if row.get("latestRevision"):
        return out | {"type": LATEST}
    return out | {"type": REVISION, "revision": row.get("revisionName", "")}
