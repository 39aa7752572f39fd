"""A unit with good defaults; a test overrides the one thing it is about."""

from __future__ import annotations

from typing import Any

from meshctl.spec.model import PodmanTarget, Service
from meshctl.targets.podman.unit import Unit

IMAGE = f"host/llama@sha256:{'1' * 64}"
AMD = {"name": "R9700", "memory": "32GiB", "count": "2"}
NVIDIA = {"name": "L4", "memory": "24GiB"}


def unit(
    *, target: dict[str, Any] | None = None, of: dict[str, Any] | None = None, **changed: Any
) -> Unit:
    """`target` and `of` go into the target and the service, keywords into the unit."""
    place = {"kind": "podman", "address": "ops@attic", **(target or {})}
    service = {"target": ["attic"], "image": "llama", **(of or {})}
    given: dict[str, Any] = {
        "name": "small",
        "fleet": "home",
        "key": "small",
        "service": Service.model_validate(service),
        "target": PodmanTarget.model_validate(place),
        "image": IMAGE,
    }
    return Unit(**{**given, **changed})


def said(text: str, key: str) -> list[str]:
    """Every value under a key, in the order of the file."""
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}=")]
