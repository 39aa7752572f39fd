"""Quota preferences: requests for more, and how they are answered."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from meshctl.emulator import disk
from meshctl.emulator.failures import ApiError, invalid, missing
from meshctl.emulator.moment import etag, now_us, rfc3339
from meshctl.emulator.quotas import known
from meshctl.emulator.settings import Settings

GRANTED, DENIED, PENDING = "granted", "denied", "pending"
_DETAIL = {
    GRANTED: "The quota increase request was approved.",
    DENIED: "The quota increase request was not approved.",
    PENDING: "The quota increase request is being reviewed.",
}


class Preferences:
    """All requests by full name; a granted one changes the limit, and `keep` remembers that."""

    def __init__(self, folder: Path, settings: Settings, keep: Callable[[], None]) -> None:
        self._folder, self._settings, self._keep = folder, settings, keep
        self._rows: dict[str, dict[str, Any]] = {row["name"]: row for row in disk.read_all(folder)}

    def create(self, parent: str, wanted_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """Take a request; ApiError 400 for a bad one, 409 where one exists for its target."""
        value = _checked(body)
        dimensions = body.get("dimensions") or {}
        if any(self._same_target(row, body["quotaId"], dimensions) for row in self.list(parent)):
            raise ApiError("ALREADY_EXISTS", "A quota preference for this target already exists.")
        name = f"{parent}/quotaPreferences/{wanted_id or uuid.uuid4()}"
        if name in self._rows:
            raise ApiError("ALREADY_EXISTS", f"Resource '{name}' already exists.")
        row = self._answered(name, body["quotaId"], dimensions, value)
        self._rows[name] = row
        disk.write_json(self._folder / f"{uuid.uuid4()}.json", row)
        return row

    @staticmethod
    def _same_target(row: dict[str, Any], quota_id: str, dimensions: dict[str, str]) -> bool:
        return (row["quotaId"], row["dimensions"]) == (quota_id, dimensions)

    def _answered(
        self, name: str, quota_id: str, dimensions: dict[str, str], value: int
    ) -> dict[str, Any]:
        """facts s4: requests for GPUs often come back granted 0; which answer is a setting."""
        how, now = self._settings.quota_increases, now_us()
        config = {"preferredValue": str(value), "stateDetail": _DETAIL[how]}
        if how == GRANTED:
            self._grant(quota_id, dimensions.get("region", known.EVERYWHERE), value)
        if how != PENDING:
            config["grantedValue"] = str(value) if how == GRANTED else "0"
        row = {"name": name, "service": known.SERVICE, "quotaId": quota_id, "quotaConfig": config}
        row |= {"dimensions": dimensions, "etag": etag(now, name).strip('"')}
        row |= {"createTime": rfc3339(now), "updateTime": rfc3339(now)}
        return row | ({"reconciling": True} if how == PENDING else {})

    def _grant(self, quota_id: str, region: str, value: int) -> None:
        self._settings.quota_limits.setdefault(quota_id, {})[region] = value
        self._keep()

    def get(self, name: str) -> dict[str, Any]:
        """One request with its answer; ApiError 404."""
        if name not in self._rows:
            raise missing(f"Resource '{name}' was not found.")
        return self._rows[name]

    def list(self, parent: str) -> list[dict[str, Any]]:
        """Those of a project, by name."""
        names = sorted(n for n in self._rows if n.startswith(f"{parent}/quotaPreferences/"))
        return [self._rows[name] for name in names]


def _checked(body: dict[str, Any]) -> int:
    """The value asked for; 400 for what the real service requires and is not there."""
    if body.get("service") != known.SERVICE or body.get("quotaId") not in known.ALL:
        raise invalid("Quota preferences are kept for the quotas of run.googleapis.com.", "quotaId")
    unknown = set(body.get("dimensions") or {}) - {"region"}
    if unknown:
        raise invalid(f"Unknown dimension '{sorted(unknown)[0]}'.", "dimensions")
    try:
        value = int((body.get("quotaConfig") or {})["preferredValue"])
    except (KeyError, TypeError, ValueError):
        value = -2
    if value < known.UNLIMITED:
        raise invalid("preferred_value must be at least -1.", "quota_config.preferred_value")
    if not body.get("contactEmail"):
        raise invalid("An increase needs a contact_email.", "contact_email")
    return value
