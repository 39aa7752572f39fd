"""Traffic: what a split may look like, and what it resolves to."""

from __future__ import annotations

import re
from typing import Any

from meshctl.emulator.failures import Failed, invalid
from meshctl.emulator.run.schema import LATEST, REVISION

_TAG = re.compile(r"^[a-z]([a-z0-9-]*[a-z0-9])?$")
DEFAULT: list[dict[str, Any]] = [{"type": LATEST, "percent": 100}]


def check(rows: list[dict[str, Any]], service_id: str, no_default_url: bool = False) -> None:
    """facts s2: the refusals of a traffic list (400 INVALID_ARGUMENT)."""
    for index, row in enumerate(rows):
        _check_row(row, f"traffic[{index}]")
    tags = [row["tag"] for row in rows if row.get("tag")]
    if len(set(tags)) != len(tags):
        raise invalid("Traffic targets may not contain a duplicate tag.", "traffic[].tag")
    for tag in tags:
        _check_tag(tag, service_id, no_default_url)
    total = sum(int(row.get("percent", 0)) for row in rows)
    if rows and total != 100:
        raise invalid(f"The total traffic percent is {total}, but should be 100.", "traffic")


def _check_row(row: dict[str, Any], path: str) -> None:
    percent = row.get("percent", 0)
    if not isinstance(percent, int) or not 0 <= percent <= 100:
        raise invalid(f"{path}.percent must be a number between 0 and 100.", f"{path}.percent")
    kind = row.get("type")
    if kind not in (LATEST, REVISION):
        raise invalid(f"{path}.type must be LATEST or REVISION.", f"{path}.type")
    if bool(row.get("revision")) != (kind == REVISION):
        raise invalid(
            f"{path}.revision must be specified if and only if traffic type is {REVISION}.",
            f"{path}.revision",
        )


def _check_tag(tag: str, service_id: str, no_default_url: bool) -> None:
    if len(tag) + len(service_id) > 46:
        raise invalid(
            "Combined traffic tag and service name cannot exceed 46 characters", "traffic[].tag"
        )
    if not _TAG.match(tag):
        raise invalid(f"Traffic tag '{tag}' must be a DNS label.", "traffic[].tag")
    if no_default_url:
        raise invalid("Traffic tags need the default URL to be enabled.", "traffic[].tag")


def normal(rows: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Empty means all to latest (facts s2); zero percents are dropped as proto3 JSON does."""
    out = [{k: v for k, v in row.items() if v} for row in rows or DEFAULT]
    return [row | {"type": row.get("type", _kind(row))} for row in out]


def _kind(row: dict[str, Any]) -> str:
    return REVISION if row.get("revision") else LATEST


def resolve(rows: list[dict[str, Any]], latest_ready: str | None) -> list[tuple[str, int, str]]:
    """(revision, percent, tag) of each row; LATEST means the latest ready revision (facts s2)."""
    out = []
    for row in rows:
        name = row.get("revision") or latest_ready
        if name:
            out.append((name, int(row.get("percent", 0)), row.get("tag", "")))
    return out


def not_ready(name: str, cause: str, reason: dict[str, str], code: int = 9) -> Failed:
    """facts s2: the wording for a target that is not ready, with its cause."""
    text = f"Revision '{name}' is not ready and cannot serve traffic. {cause}".strip()
    return Failed(code, text, reason or {"reason": "REVISION_FAILED"})
