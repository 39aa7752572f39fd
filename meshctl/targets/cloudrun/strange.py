"""Finds what a template holds that meshctl never writes: it makes another release. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from meshctl.targets.cloudrun.odd import Odd, whole

Json = dict[str, Any]
TEMPLATE = (
    "volumes",
    "vpcAccess",
    "sessionAffinity",
    "encryptionKey",
    "encryptionKeyRevocationAction",
    "encryptionKeyShutdownDuration",
    "serviceMesh",
)
"""Fields of a template, beside those that a release is made of."""
KNOWN_CONTAINER = {"name", "image", "command", "args", "env", "resources", "ports", "startupProbe"}
KNOWN_PROBE = {"httpGet", "tcpSocket", "periodSeconds", "timeoutSeconds", "failureThreshold"}
_GPU = "nvidia.com/gpu"
_LIMITS = {"cpu", "memory", _GPU}
MOUNTS = ("volumes", "volumeMounts")
"""Said by `deliver: mount`, where they are as meshctl writes them."""


def strange(document: Json, container: Json, *, mounted: bool) -> Json:
    """All of it; `mounted` says that the volumes are as meshctl writes them."""
    found: Json = {key: document[key] for key in TEMPLATE if document.get(key)}
    found |= {key: value for key, value in container.items() if key not in KNOWN_CONTAINER}
    if mounted:
        found = {key: found[key] for key in found if key not in MOUNTS}
    found |= _port(container) | _probe(container)
    found |= probe_ports(container) | limits(container)
    containers = Odd().rows("", document.get("containers"))
    return found | ({"containers": containers[1:]} if len(containers) > 1 else {})


def digest(found: Json) -> str:
    """A short hash of it; empty for nothing."""
    if not found:
        return ""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def port_of(odd: Odd, container: Json) -> int:
    """The port that gets the requests; 8080 where none is said, as the server has it."""
    ports = odd.rows("ports", container.get("ports"))
    return odd.read("port", ports[0].get("containerPort") if ports else None, whole, 8080)


def _port(container: Json) -> Json:
    """HTTP/2 to the container is another way of being asked; http1 and no name are the same."""
    ports = Odd().rows("", container.get("ports"))
    name = ports[0].get("name", "http1") if ports else "http1"
    return {"port": name} if name != "http1" else {}


def _probe(container: Json) -> Json:
    probe = Odd().mapping("", container.get("startupProbe"))
    http = Odd().mapping("", probe.get("httpGet"))
    found = {key: value for key, value in probe.items() if key not in KNOWN_PROBE and value}
    found |= {"httpHeaders": http["httpHeaders"]} if http.get("httpHeaders") else {}
    return {"startupProbe": found} if found else {}


def probe_ports(container: Json) -> Json:
    """Where a startup probe asks another port than the one that gets the requests, by its path."""
    probe = Odd().mapping("", container.get("startupProbe"))
    asked = {how: Odd().mapping("", probe.get(how)).get("port") for how in ("httpGet", "tcpSocket")}
    usual = (None, port_of(Odd(), container))
    return {f"startupProbe.{how}.port": port for how, port in asked.items() if port not in usual}


def limits(container: Json) -> Json:
    """Limits that no key of a fleet file says, and any number of GPUs but one, by their paths."""
    resources = Odd().mapping("", container.get("resources"))
    all_ = Odd().mapping("", resources.get("limits"))
    found = {key: value for key, value in all_.items() if key not in _LIMITS}
    found |= {_GPU: all_[_GPU]} if str(all_.get(_GPU, "1")) != "1" else {}
    return {f"resources.limits.{key}": value for key, value in found.items()}
