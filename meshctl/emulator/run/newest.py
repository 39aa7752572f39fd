"""Whether a wish makes a revision, and what that is called."""

from __future__ import annotations

import copy
import random
import string
from typing import Any

from meshctl.emulator.failures import exists
from meshctl.emulator.faults import met
from meshctl.emulator.moment import now_us
from meshctl.emulator.run import shape
from meshctl.emulator.run.records import Revision, Service

_SUFFIX = string.ascii_lowercase + string.digits


def revision_for(service: Service, template: dict[str, Any], forced: bool) -> Revision | None:
    """The revision that a filled template makes; None where it makes none.

    facts s1: only a changed template does, unless `forced`; a name used twice is a 409.
    """
    before = service.spec.get("template")
    wanted = template.get("revision")
    named = service.revisions.get(wanted) if wanted else None
    if named is not None:
        if not _is_asked_again(named, template):
            raise exists(f"Revision named '{wanted}' with different configuration already exists.")
        return None
    renamed = bool(wanted) and wanted != (before or {}).get("revision")
    if before and shape.same_template(before, template) and not forced and not renamed:
        return None
    return _make(service, template)


def _is_asked_again(revision: Revision, template: dict[str, Any]) -> bool:
    """Compare with the template as it was asked for, before its images were resolved."""
    asked = copy.deepcopy(revision.template)
    for container, image in zip(asked["containers"], revision.asked_images, strict=True):
        container["image"] = image
    return shape.same_template(asked, template)


def _make(service: Service, template: dict[str, Any]) -> Revision:
    return Revision(
        service.project,
        service.location,
        service.id,
        template.get("revision") or _assigned(service),
        service.generation + 1,
        copy.deepcopy(template),
        now_us(),
        asked_images=[container["image"] for container in template["containers"]],
        unready_s=met.get().unready_s,
    )


def _assigned(service: Service) -> str:
    """facts s1: a five-digit counter, a hyphen and three of [a-z0-9]."""
    suffix = "".join(random.choices(_SUFFIX, k=3))
    return f"{service.id}-{service.counter + 1:05d}-{suffix}"
