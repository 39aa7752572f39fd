"""Identity tokens over HTTP: IAM Credentials for clients, the metadata server for containers."""

from __future__ import annotations

from aiohttp import web

from meshctl.emulator.answers import json_body
from meshctl.emulator.failures import invalid
from meshctl.emulator.settings import Settings
from meshctl.emulator.tokens import Tokens

GENERATE = "/v1/projects/-/serviceAccounts/{email:[^/:]+}:generateIdToken"
METADATA = "/computeMetadata/v1/instance/service-accounts/{account}/identity"


class IdentityApi:
    """Issues tokens to whoever asks on loopback."""

    def __init__(self, tokens: Tokens, settings: Settings) -> None:
        self._tokens, self._settings = tokens, settings

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Register every route."""
        router.add_post(GENERATE, self.generate)
        router.add_get(METADATA, self.metadata)

    async def generate(self, request: web.Request) -> web.Response:
        """POST :generateIdToken {"audience": URL, "includeEmail": true}"""
        audience = (await json_body(request)).get("audience")
        if not audience:
            raise invalid("audience is required.", "audience")
        email = request.match_info["email"]
        token = self._tokens.issue(email, audience, self._settings.token_seconds)
        return web.json_response({"token": token})

    async def metadata(self, request: web.Request) -> web.Response:
        """GET identity?audience=URL with Metadata-Flavor: Google: the token as text."""
        if request.headers.get("Metadata-Flavor") != "Google":
            return web.Response(status=403, text="Missing Metadata-Flavor:Google header.\n")
        audience = request.query.get("audience")
        if not audience:
            return web.Response(status=400, text="non-empty audience parameter required\n")
        email = f"{self._settings.project_number}-compute@developer.gserviceaccount.com"
        token = self._tokens.issue(email, audience, self._settings.token_seconds)
        return web.Response(text=token, headers={"Metadata-Flavor": "Google"})
