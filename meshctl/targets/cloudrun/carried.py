"""Reads and writes what hangs on a template without being part of any release. Pure.

Labels and annotations of others, which bills are split by, and the name of the container: no
release has them, and every later revision keeps them.
"""

from __future__ import annotations

from typing import Any

from meshctl.plan.observed import Carried
from meshctl.targets.cloudrun.odd import Odd, text

Json = dict[str, Any]
NOT_CARRIED = (
    "meshctl-",
    "run.googleapis.com/",
    "cloud.googleapis.com/",
    "serving.knative.dev/",
    "autoscaling.knative.dev/",
    "client.knative.dev/",
)
"""Ours, those that the v2 API rejects, and gcloud's nonce; facts/cloud-run sections 1 and 2."""


def carried(template: Json) -> Carried:
    """What the next revision has to keep of the template that a service has now."""
    containers = Odd().rows("", template.get("containers"))
    name = containers[0].get("name") if containers else None
    return Carried(
        labels=_of_others(template.get("labels")),
        annotations=_of_others(template.get("annotations")),
        container=Odd().read("", name, text, ""),
    )


def carrying(template: Json, kept: Carried) -> Json:
    """The same template with what is to be kept."""
    found: Json = {**template, "labels": {**kept.labels, **template.get("labels", {})}}
    if kept.annotations:
        found["annotations"] = dict(kept.annotations)
    if kept.container:
        first, *others = template["containers"]
        found["containers"] = [{**first, "name": kept.container}, *others]
    return found


def _of_others(found: Any) -> dict[str, str]:
    rows = Odd().mapping("", found).items()
    read = {key: Odd().read("", value, text, "") for key, value in rows}
    return {key: value for key, value in sorted(read.items()) if not key.startswith(NOT_CARRIED)}
