"""Reads the environment of this process, once, so that everything else takes it as an argument."""

from __future__ import annotations

import os


def environment() -> dict[str, str]:
    """A copy of the variables as they are now."""
    return dict(os.environ)
