"""Reads the secrets that the environment names as files, and keeps all of them from engines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from meshctl.errors import UsageError
from meshctl.mesh.keys import SECRETS

LARGEST = 64 * 1024
"""Bytes of a file of keys: a thousand of them, and no device that never ends."""


def opened(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with `@FILE` replaced by what is in the file. Raises UsageError."""
    return {
        name: _read(name, value[1:]) if name in SECRETS and value.startswith("@") else value
        for name, value in environ.items()
    }


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """What engines are handed: a key is for the mesh, and for nobody behind it."""
    return {name: value for name, value in environ.items() if name not in SECRETS}


def _read(name: str, path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) <= LARGEST:
            return content.decode()
        why = f"it has more than {LARGEST} bytes"
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (UnicodeDecodeError, ValueError):
        why = "it is no text"
    raise UsageError(
        f"{name}: the file {path} cannot be read: {why}",
        hint="name a file that holds one key a line, or put the key into the variable",
        place=name,
    )
