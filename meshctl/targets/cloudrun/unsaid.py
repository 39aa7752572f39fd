"""Names what a live service holds that a fleet file cannot say, one by one. Pure.

What stands in a revision would be lost by the next release, so it keeps a service from being
adopted. What hangs on its template is carried over by every write, and what stands around the
revisions is never written by meshctl: both stay, and are told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from meshctl.targets.cloudrun.carried import carried
from meshctl.targets.cloudrun.odd import Odd
from meshctl.targets.cloudrun.strange import (
    KNOWN_CONTAINER,
    KNOWN_PROBE,
    MOUNTS,
    TEMPLATE,
    limits,
    probe_ports,
)
from meshctl.targets.cloudrun.template import read_mounts

Json = dict[str, Any]
_OF_SERVICE_ALONE = ("healthCheckDisabled",)
"""Said in the template of a service and by none of its revisions."""
_AROUND = {
    "ingress": ("INGRESS_TRAFFIC_ALL", ""),
    "binaryAuthorization": (None,),
    "customAudiences": (None,),
    "defaultUriDisabled": (None,),
    "description": (None,),
    "labels": (None,),
    "annotations": (None,),
    "iapEnabled": (None,),
    "invokerIamDisabled": (None,),
    "launchStage": ("GA", "LAUNCH_STAGE_UNSPECIFIED"),
    "multiRegionSettings": (None,),
    "threatDetectionEnabled": (None,),
    "buildConfig": (None,),
}
"""What a service says around its revisions, with the values that say nothing."""
_LONGEST = 60


@dataclass(frozen=True)
class Unsaid:
    """One thing: where it stands and what it says; `lost` by the next release, or left as it is."""

    path: str
    value: str
    lost: bool


def unsaid(service: Json, revision: Json) -> tuple[Unsaid, ...]:
    """Everything of a live service, and of the revision that serves, that YAML has no key for."""
    template = Odd().mapping("", service.get("template"))
    own = [(key, template[key]) for key in _OF_SERVICE_ALONE if template.get(key)]
    lost = [Unsaid(path, shown(value), True) for path, value in (*_of_revision(revision), *own)]
    around = (*_of_template(template), *_of_service(service))
    kept = [Unsaid(path, shown(value), False) for path, value in around]
    return (*lost, *kept)


def _of_template(template: Json) -> Iterator[tuple[str, Any]]:
    found = carried(template)
    for key, value in found.labels.items():
        yield f"template.labels.{key}", value
    for key, value in found.annotations.items():
        yield f"template.annotations.{key}", value
    if found.container:
        yield "template.containers[0].name", found.container


def _of_revision(revision: Json) -> Iterator[tuple[str, Any]]:
    containers = Odd().rows("", revision.get("containers"))
    container = containers[0] if containers else {}
    told = MOUNTS if read_mounts(revision, container) is not None else ()
    for key in TEMPLATE:
        if revision.get(key) and key not in told:
            yield key, revision[key]
    for number, extra in enumerate(containers[1:], 1):
        yield f"containers[{number}]", extra.get("name") or extra.get("image") or extra
    yield from _of_container({key: container[key] for key in container if key not in told})


def _of_container(container: Json) -> Iterator[tuple[str, Any]]:
    for key in sorted(container.keys() - KNOWN_CONTAINER):
        if container[key]:
            yield key, container[key]
    probe = Odd().mapping("", container.get("startupProbe"))
    for key in sorted(probe.keys() - KNOWN_PROBE):
        if probe[key]:
            yield f"startupProbe.{key}", probe[key]
    yield from probe_ports(container).items()
    yield from limits(container).items()
    headers = Odd().mapping("", probe.get("httpGet")).get("httpHeaders")
    if headers:
        yield "startupProbe.httpGet.httpHeaders", headers
    ports = Odd().rows("", container.get("ports"))
    if ports and ports[0].get("name", "http1") != "http1":
        yield "ports", ports[0].get("name")
    for row in Odd().rows("", container.get("env")):
        source = Odd().mapping("", row.get("valueSource"))
        if source and not source.get("secretKeyRef"):
            yield f"env.{row.get('name')}", source


def _of_service(service: Json) -> Iterator[tuple[str, Any]]:
    for key, nothing in _AROUND.items():
        value = service.get(key)
        if value and value not in nothing:
            yield key, value
    scaling = Odd().mapping("", service.get("scaling"))
    if scaling.get("maxInstanceCount"):
        yield "scaling.maxInstanceCount", scaling["maxInstanceCount"]
    if scaling.get("scalingMode") == "MANUAL":
        yield "scaling.scalingMode", "MANUAL"


def shown(value: Any) -> str:
    """A value in a line, cut short: it may be a whole container."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    return printable if len(printable) <= _LONGEST else printable[: _LONGEST - 1] + "…"
