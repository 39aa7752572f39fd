"""Refusals of a service that the API answers at once with 400; its types are right already."""

from __future__ import annotations

import re
from typing import Any

from meshctl.emulator.failures import invalid
from meshctl.emulator.run import containers, resources
from meshctl.emulator.serve import volumes

_DNS = re.compile(r"^[a-z]([a-z0-9-]*[a-z0-9])?$")
_ACCOUNT = re.compile(r"^[^@\s]+@[^@\s]+$")
LONGEST_SERVICE, LONGEST_REVISION = 49, 63
LONGEST_REQUEST_S, MOST_CONCURRENCY = 3600, 1000
SYSTEM_DOMAINS = (
    "run.googleapis.com",
    "cloud.googleapis.com",
    "serving.knative.dev",
    "autoscaling.knative.dev",
)


def service_id(name: str) -> None:
    """facts s1: a letter first, no hyphen last, fewer than 50 of lowercase, digits, hyphen."""
    if not _DNS.match(name) or len(name) > LONGEST_SERVICE:
        raise invalid(
            f"Invalid service name '{name}': only lowercase, digits, and hyphens; must begin with "
            "letter, and cannot end with hyphen; must be less than 50 characters.",
            "service_id",
        )


def service(spec: dict[str, Any], name: str) -> None:
    """Everything of a service but its traffic."""
    _metadata(spec, "service")
    if spec.get("launchStage", "GA") not in ("GA", "BETA", "ALPHA"):
        raise invalid("launch_stage must be one of ALPHA, BETA, GA.", "launch_stage")
    scaling(spec.get("scaling", {}), "scaling")
    if not spec.get("template"):
        # facts s2: what the API says of an empty template.
        raise invalid("template: Revision template was empty.", "template")
    template(spec["template"], name)
    volumes.check(spec["template"])


def scaling(block: dict[str, Any], path: str) -> None:
    """facts s3: negative counts, max below min, a manual count without MANUAL."""
    low, high = block.get("minInstanceCount", 0), block.get("maxInstanceCount", 0)
    manual = block.get("manualInstanceCount")
    counts = {
        "min_instance_count": low,
        "max_instance_count": high,
        "manual_instance_count": manual,
    }
    for key, value in counts.items():
        if (value or 0) < 0:
            raise invalid(f"{path}.{key} must be greater than or equal to zero.", f"{path}.{key}")
    if high and high < low:
        raise invalid(
            f"{path}.max_instance_count must be greater than or equal to min_instance_count.",
            f"{path}.max_instance_count",
        )
    if manual is not None and block.get("scalingMode") != "MANUAL":
        raise invalid(
            "When manual_instance_count is set, scaling mode must be set to MANUAL.",
            f"{path}.manual_instance_count",
        )


def template(body: dict[str, Any], name: str) -> None:
    """A revision template: name, metadata, scaling, numbers, containers."""
    _metadata(body, "template")
    revision_name(body.get("revision", ""), name)
    scaling(body.get("scaling", {}), "template.scaling")
    _numbers(body)
    account = body.get("serviceAccount")
    if account and account != "default" and not _ACCOUNT.match(account):
        raise invalid(f"Unsupported service account '{account}'.", "template.service_account")
    on_gpu = bool(body.get("nodeSelector", {}).get("accelerator"))
    containers.check(body.get("containers", []), on_gpu)
    resources.check(body)


def _numbers(body: dict[str, Any]) -> None:
    """facts s3: up to an hour, up to 1000 at once."""
    if not 0 < float(body.get("timeout", "300s").rstrip("s")) <= LONGEST_REQUEST_S:
        raise invalid("The maximum allowed time is one hour (3600s).", "template.timeout")
    if not 0 <= body.get("maxInstanceRequestConcurrency", 0) <= MOST_CONCURRENCY:
        raise invalid(
            f"max_instance_request_concurrency must be between 0 and {MOST_CONCURRENCY}.",
            "template.max_instance_request_concurrency",
        )


def revision_name(revision: str, service_name: str) -> None:
    """facts s1: SERVICE- first, lowercase, digits, hyphens, no hyphen last, at most 63."""
    short = len(revision) <= LONGEST_REVISION
    good = revision.startswith(f"{service_name}-") and _DNS.match(revision) and short
    if revision and not good:
        raise invalid(
            f"Revision name '{revision}' must be prefixed with the service name '{service_name}-', "
            "use lowercase, digits and hyphens, not end with a hyphen and have at most 63 "
            "characters.",
            "template.revision",
        )


def _metadata(block: dict[str, Any], path: str) -> None:
    """facts s1: labels and annotations in the system's domains are refused in v2."""
    for kind in ("labels", "annotations"):
        for key in block.get(kind, {}):
            domain = key.split("/")[0]
            if any(domain == d or domain.endswith(f".{d}") for d in SYSTEM_DOMAINS):
                raise invalid(
                    f"{path}.{kind}: '{key}': system {kind} are not supported.", f"{path}.{kind}"
                )
