"""What all APIs share: JSON bodies, flags in the query, pages of lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from aiohttp import web

from meshctl.emulator.failures import invalid

T = TypeVar("T")


async def json_body(request: web.Request) -> dict[str, Any]:
    """The request's JSON object ({} when empty); ApiError 400 for anything else."""
    raw = await request.read()
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as err:
        raise invalid(f"Invalid JSON payload received. {err}") from err
    if not isinstance(value, dict):
        raise invalid("Invalid JSON payload received. An object is expected.")
    return value


def flag(request: web.Request, name: str) -> bool:
    """A boolean of the query."""
    return request.query.get(name, "").lower() in ("true", "1")


def _whole(request: web.Request, name: str) -> int:
    """A number of the query that is not negative; 0 when it is not there."""
    text = request.query.get(name) or "0"
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise invalid(f"Invalid {name}: '{text[:40]}'.", name)
    return int(text)


def page(
    request: web.Request, key: str, rows: Sequence[T], show: Callable[[T], dict[str, Any]]
) -> dict[str, Any]:
    """One page of a list; the token is the position to go on from."""
    size = _whole(request, "pageSize") or 100
    start = _whole(request, "pageToken")
    out: dict[str, Any] = {key: [show(row) for row in rows[start : start + size]]}
    if start + size < len(rows):
        out["nextPageToken"] = str(start + size)
    return out
