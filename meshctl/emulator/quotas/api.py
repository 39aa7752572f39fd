"""The routes of Cloud Quotas v1 for one project: infos to read, preferences to ask."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from meshctl.emulator.answers import json_body, page
from meshctl.emulator.failures import invalid, missing
from meshctl.emulator.quotas import known
from meshctl.emulator.quotas.known import EVERYWHERE, Quota
from meshctl.emulator.quotas.preferences import Preferences
from meshctl.emulator.settings import Settings

PARENT = "/v1/projects/{project}/locations/global"
INFOS = PARENT + "/services/{service}/quotaInfos"
PREFERENCES = PARENT + "/quotaPreferences"


def _parent(request: web.Request) -> str:
    return f"projects/{request.match_info['project']}/locations/global"


class QuotasApi:
    """HTTP in, infos and preferences out."""

    def __init__(self, preferences: Preferences, settings: Settings) -> None:
        self._preferences, self._settings = preferences, settings

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_get(INFOS, self.list_infos)
        router.add_get(INFOS + "/{quota}", self.get_info)
        router.add_post(PREFERENCES, self.create)
        router.add_get(PREFERENCES, self.list_preferences)
        router.add_get(PREFERENCES + "/{preference}", self.get_preference)

    def _named(self, request: web.Request) -> str:
        """The parent of the infos; 404 for a service whose quotas are not imitated."""
        service = request.match_info["service"]
        if service != known.SERVICE:
            raise missing(f"Service '{service}' was not found or has no quotas.")
        return f"{_parent(request)}/services/{service}"

    async def list_infos(self, request: web.Request) -> web.Response:
        """GET quotaInfos, paged."""
        parent = self._named(request)
        rows = sorted(known.ALL.values(), key=lambda quota: quota.id)
        return web.json_response(page(request, "quotaInfos", rows, lambda q: self._info(parent, q)))

    async def get_info(self, request: web.Request) -> web.Response:
        """GET a quotaInfo by its quota id."""
        parent, quota_id = self._named(request), request.match_info["quota"]
        if quota_id not in known.ALL:
            raise missing(f"Quota '{quota_id}' of '{known.SERVICE}' was not found.")
        return web.json_response(self._info(parent, known.ALL[quota_id]))

    def _info(self, parent: str, quota: Quota) -> dict[str, Any]:
        return {
            "name": f"{parent}/quotaInfos/{quota.id}",
            "quotaId": quota.id,
            "metric": quota.metric,
            "service": known.SERVICE,
            "isPrecise": True,
            "containerType": "PROJECT",
            "dimensions": ["region"],
            "metricDisplayName": quota.title.partition(",")[0],
            "quotaDisplayName": quota.title,
            "metricUnit": quota.unit,
            "quotaIncreaseEligibility": self._eligibility(),
            "dimensionsInfos": self._values(quota),
        }

    def _eligibility(self) -> dict[str, Any]:
        """facts s4: GPU increases are often ineligible for want of usage history."""
        if self._settings.quota_increases == "denied":
            return {"ineligibilityReason": "NOT_ENOUGH_USAGE_HISTORY"}
        return {"isEligible": True}

    def _values(self, quota: Quota) -> list[dict[str, Any]]:
        """facts s4: from specific to general, an entry without region is the default."""
        rows = {EVERYWHERE: quota.default} | self._settings.quota_limits.get(quota.id, {})
        own = sorted(region for region in rows if region != EVERYWHERE)
        out = [
            {"dimensions": {"region": region}, **_value(rows[region], [region])} for region in own
        ]
        rest = [region for region in known.REGIONS if region not in own]
        return [*out, _value(rows[EVERYWHERE], rest)]

    async def create(self, request: web.Request) -> web.Response:
        """POST quotaPreferences?quotaPreferenceId="""
        wanted = request.query.get("quotaPreferenceId", "")
        body = await json_body(request)
        return web.json_response(self._preferences.create(_parent(request), wanted, body))

    async def list_preferences(self, request: web.Request) -> web.Response:
        """GET quotaPreferences, paged."""
        if request.query.get("filter") or request.query.get("orderBy"):
            raise invalid("filter and order_by are not supported by this server.", "filter")
        rows = self._preferences.list(_parent(request))
        return web.json_response(page(request, "quotaPreferences", rows, lambda row: row))

    async def get_preference(self, request: web.Request) -> web.Response:
        """GET a quotaPreference."""
        name = f"{_parent(request)}/quotaPreferences/{request.match_info['preference']}"
        return web.json_response(self._preferences.get(name))


def _value(value: int, locations: list[str]) -> dict[str, Any]:
    """int64 as a string; proto3 JSON leaves a zero out, so a reader must take none for zero."""
    return {
        "details": {"value": str(value)} if value else {},
        "applicableLocations": locations,
    }
