"""Logging v2 `entries:list`, in the form that reads the output of Cloud Run's revisions."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from typing import Any

from aiohttp import web

from meshctl.emulator.answers import json_body
from meshctl.emulator.failures import invalid
from meshctl.emulator.filters import Condition, parse
from meshctl.emulator.logging import origin
from meshctl.emulator.logging.entries import Entries, Entry
from meshctl.emulator.logging.origin import Origin

FIELDS = (
    *origin.FIELDS,
    "logName",
    "severity",
    "timestamp",
    "textPayload",
    "jsonPayload.message",
    "labels.instanceId",
    "insertId",
    "httpRequest.status",
)
_KEYS = {"resourceNames", "filter", "orderBy", "pageSize", "pageToken"}
_ORDERS = {"": False, "timestamp asc": False, "timestamp": False, "timestamp desc": True}
Position = tuple[str, str]  # timestamp and insertId: no two entries share them


class LoggingApi:
    """HTTP in, entries out."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_post("/v2/entries:list", self.answer)

    async def answer(self, request: web.Request) -> web.Response:
        """POST entries:list {resourceNames, filter, orderBy, pageSize, pageToken}"""
        body = await json_body(request)
        unknown = sorted(set(body) - _KEYS)
        if unknown:
            raise invalid(f'Unknown name "{unknown[0]}": Cannot find field.', unknown[0])
        projects, conditions = _projects(body), parse(_text(body, "filter"), FIELDS)
        backwards, size = _backwards(body), _size(body)
        rows = await asyncio.to_thread(self._matching, projects, conditions)
        rows.sort(key=_position, reverse=backwards)
        return web.json_response(_page(rows, body, size, backwards))

    def _matching(self, projects: list[str], conditions: list[Condition]) -> list[Entry]:
        """Conditions on the revision are asked once of each, the others of each entry."""
        of_revision = [c for c in conditions if c.field.startswith("resource.")]

        def wanted(of: Origin) -> bool:
            return _passes({"resource": of.resource()}, of_revision)

        rows = (row for project in projects for row in self._entries.read(project, wanted))
        return [row for row in rows if _passes(row, conditions)]


def _passes(row: Entry, conditions: list[Condition]) -> bool:
    return all(condition.holds(_field(row, condition.field)) for condition in conditions)


def _text(body: dict[str, Any], key: str) -> str:
    value = body.get(key) or ""
    if not isinstance(value, str):
        raise invalid(f"Invalid value at '{key}' (TYPE_STRING).", key)
    return value


def _projects(body: dict[str, Any]) -> list[str]:
    """facts name no other container than a project, so that is all that is understood."""
    names = body.get("resourceNames") or []
    parts = [str(name).split("/") for name in names] if isinstance(names, list) else []
    if not parts or any(len(p) != 2 or p[0] != "projects" or not p[1] for p in parts):
        raise invalid("resource_names must be one or more of projects/PROJECT.", "resource_names")
    if any(p[1] in (".", "..") for p in parts):
        raise invalid("resource_names must be one or more of projects/PROJECT.", "resource_names")
    return sorted({p[1] for p in parts})


def _backwards(body: dict[str, Any]) -> bool:
    order = _text(body, "orderBy")
    if order not in _ORDERS:
        raise invalid(f"Unsupported order '{order}': timestamp asc or timestamp desc.", "order_by")
    return _ORDERS[order]


def _size(body: dict[str, Any]) -> int:
    size = body.get("pageSize") or 50
    if not isinstance(size, int) or not 1 <= size <= 1000:
        raise invalid("page_size must be between 1 and 1000.", "page_size")
    return size


def _field(row: Entry, path: str) -> Any:
    if path == "severity":
        return row.get("severity", "DEFAULT")
    value: Any = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _position(row: Entry) -> Position:
    return row["timestamp"], row["insertId"]


def _page(rows: list[Entry], body: dict[str, Any], size: int, backwards: bool) -> dict[str, Any]:
    """Entries after the token's place: what was written meanwhile shifts no page."""
    place = _place(body)
    if place is not None:
        rows = [r for r in rows if (_position(r) < place if backwards else _position(r) > place)]
    out: dict[str, Any] = {"entries": rows[:size]} if rows else {}
    if len(rows) > size:
        token = json.dumps([*_position(rows[size - 1]), _question(body)])
        out["nextPageToken"] = base64.urlsafe_b64encode(token.encode()).decode()
    return out


def _question(body: dict[str, Any]) -> str:
    """What a token belongs to; the size of a page may change."""
    same = {key: body.get(key) for key in ("resourceNames", "filter", "orderBy")}
    return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()[:16]


def _place(body: dict[str, Any]) -> Position | None:
    token = _text(body, "pageToken")
    if not token:
        return None
    try:
        stamp, insert_id, question = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, TypeError):
        stamp = insert_id = question = None
    if question != _question(body):
        raise invalid("page_token does not belong to this request.", "page_token")
    return str(stamp), str(insert_id)
