"""The Cloud Logging door: what the containers of a project wrote."""

from __future__ import annotations

from typing import Any, Protocol

from meshctl.outside.gcp import Calls, Cloud
from meshctl.outside.http import Http
from meshctl.outside.rest import MOST_PAGES, Rest, rows

Json = dict[str, Any]
HOST = "logging.googleapis.com"
LARGEST_PAGE = 1000
"""Entries of one page at most; the API's own limit."""


class LogsApi(Protocol):
    """What `logs` asks of the cloud."""

    def newest(self, filter: str, limit: int) -> list[Json]: ...


class RestLogs:
    """entries:list by plain REST."""

    def __init__(self, cloud: Cloud, http: Http, calls: Calls) -> None:
        self.cloud = cloud
        self._rest = Rest(cloud, http, calls, HOST)

    def newest(self, filter: str, limit: int) -> list[Json]:
        """The newest entries that match, at most `limit`, the newest first.

        Raises ApiError where the API is off or the permission is missing, Unreachable.
        """
        body: Json = {
            "resourceNames": [f"projects/{self.cloud.project}"],
            "filter": filter,
            "orderBy": "timestamp desc",
            "pageSize": min(limit, LARGEST_PAGE),
        }
        found: list[Json] = []
        for _ in range(MOST_PAGES):
            page = self._rest.ask("logging entries.list", "POST", "/v2/entries:list", body=body)
            found += rows(page, "entries")
            token = page.get("nextPageToken")
            if not token or len(found) >= limit:
                break
            body = {**body, "pageToken": token}
        return found[:limit]
