"""What peers are shown: an identity token of the machine the mesh runs on, and the peers' key."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from meshctl.mesh.keys import HEADER
from meshctl.mesh.upstreams import Upstreams
from meshctl.secret import Secret

KEPT_S = 45 * 60.0
"""Google's identity tokens live an hour; fetched anew in good time."""
FETCH_S = 5.0
_PATH = "/computeMetadata/v1/instance/service-accounts/default/identity"


class Identity:
    """Proves to a private peer who is asking; without a metadata server nothing is proved.

    A peer that has keys of its own is shown `key`; Authorization is taken by the token.
    """

    def __init__(
        self, metadata_host: str | None, upstreams: Upstreams, key: Secret | None = None
    ) -> None:
        self._host = metadata_host
        self._key = key
        self._upstreams = upstreams
        self._tokens: dict[str, tuple[float, str]] = {}

    async def header(self, base_url: str) -> dict[str, str]:
        """The credentials for a peer; empty where there are none to give.

        Raises aiohttp.ClientError or TimeoutError when the metadata server does not give one.
        """
        if not _worth_proving(base_url):
            return {}
        key = {HEADER: self._key.reveal()} if self._key else {}
        return key | await self._token(base_url)

    async def _token(self, base_url: str) -> dict[str, str]:
        if self._host is None:
            return {}
        until, token = self._tokens.get(base_url, (0.0, ""))
        if time.monotonic() >= until:
            token = await self._fetch(base_url)
            self._tokens[base_url] = (time.monotonic() + KEPT_S, token)
        return {"Authorization": f"Bearer {token}"}

    async def _fetch(self, base_url: str) -> str:
        url = f"http://{self._host}{_PATH}?audience={base_url}"
        return await self._upstreams.get_text(url, {"Metadata-Flavor": "Google"}, FETCH_S)


def _worth_proving(base_url: str) -> bool:
    """A token is a credential: it never crosses a network in the clear."""
    parts = urlsplit(base_url)
    return parts.scheme == "https" or parts.hostname in ("127.0.0.1", "localhost", "::1")
