"""Finds the folders that come with meshctl: at the top of a checkout, or inside a wheel."""

from __future__ import annotations

from pathlib import Path

import meshctl
from meshctl.errors import MeshctlError


def share_dir(name: str) -> Path:
    """The folder `configs` or `cloudbuild`. Raises MeshctlError when the installation lacks it."""
    package = Path(meshctl.__file__).parent
    for candidate in (package / "share" / name, package.parent / name):
        if candidate.is_dir():
            return candidate
    raise MeshctlError(f"this installation has no {name}", hint="install meshctl again")
