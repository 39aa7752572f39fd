"""The JSON document of `host sweep`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings.sweep import InTheWay
from meshctl.ui.documents import Document


class SweptHost(Frozen):
    """One host: what is in the way there now, and what was ended."""

    name: str
    state: Literal["up", "unreachable", "refused"]
    why: str
    things: tuple[InTheWay, ...] = Field(description="in the way now; those `spared` stay")
    ended: tuple[InTheWay, ...] = Field(default=(), description="seen before, and gone now")


class HostSweep(Document):
    """`host sweep`: what holds a service's port, card or name and is not ours."""

    kind: Literal["host-sweep/v1"] = "host-sweep/v1"
    hosts: tuple[SweptHost, ...]
