"""References to secrets: which the API accepts, and what they mean when an instance starts."""

from __future__ import annotations

import re
from typing import Any

from meshctl.emulator.failures import invalid
from meshctl.emulator.serve.launch import MissingSecret

_NAME = re.compile(r"^(projects/[^/]+/secrets/)?[A-Za-z0-9_-]{1,255}$")
_VERSION = re.compile(r"^(latest|[1-9][0-9]*)$")


def check(rows: list[dict[str, Any]], path: str) -> None:
    """Refuse (400) a variable with value and reference, and a reference that names nothing."""
    for index, row in enumerate(rows):
        if "valueSource" not in row:
            continue
        here = f"{path}.env[{index}].value_source"
        if row.get("value"):
            raise invalid(f"{here}: a variable has a value or a value source, not both.", here)
        reference = row["valueSource"].get("secretKeyRef", {})
        if not _NAME.match(reference.get("secret", "")):
            raise invalid(f"{here}.secret_key_ref.secret must name a secret.", here)
        if not _VERSION.match(reference.get("version") or "latest"):
            raise invalid(f"{here}.secret_key_ref.version is a number or latest.", here)


def read(secrets: dict[str, dict[str, str]], reference: dict[str, str]) -> str:
    """The value a reference means now; `latest` is the highest version. MissingSecret."""
    name, version = reference["secret"].split("/")[-1], reference.get("version") or "latest"
    versions = secrets.get(name, {})
    if version == "latest" and versions:
        version = max(versions, key=lambda v: (len(v), v))
    if version not in versions:
        raise MissingSecret(f"Permission denied on secret: {name}/versions/{version}.")
    return versions[version]
