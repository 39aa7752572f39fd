"""Which keys open a mesh, and whether a request shows one of them. Pure.

Keys are compared by digest and in constant time, so that nothing is learned from how long it takes.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping

from meshctl.errors import UsageError
from meshctl.mesh.faults import Fault
from meshctl.secret import Secret

VARIABLE = "MESH_API_KEYS"
PEERS_VARIABLE = "MESH_PEER_KEY"
SECRETS = (VARIABLE, PEERS_VARIABLE)
"""Variables that no engine is handed."""
HEADER = "x-api-key"
"""Where a key travels when Authorization is taken: Cloud Run reads the identity token there."""
OPEN = frozenset(("/health", "/ready"))
"""Paths that probes ask; they say whether the mesh is well, and nothing of its clients."""
_KEY = re.compile(r"[!-~]{16,512}")
_HINT = "make one with `openssl rand -hex 32`"


class Keys:
    """The keys of one mesh; none at all leaves it open."""

    def __init__(self, keys: tuple[Secret, ...] = ()) -> None:
        self._digests = tuple(_digest(key.reveal()) for key in keys)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._digests)

    def refuse(self, headers: Mapping[str, str]) -> Fault | None:
        """401 unless the headers show a key; worded as OpenAI words it. None lets pass."""
        if not self._digests:
            return None
        shown = [key for key in (_bearer(headers), headers.get(HEADER, "")) if key]
        if not shown:
            return _refusal("You didn't provide an API key: send Authorization: Bearer KEY.")
        known = [hmac.compare_digest(_digest(key), own) for key in shown for own in self._digests]
        return None if any(known) else _refusal("Incorrect API key provided.")


def read_keys(text: str | None) -> Keys:
    """Keys separated by commas, spaces or lines; None is none. Raises UsageError, never with a key.

    Text without a key is a mistake: a mesh that was to be closed would stand open.
    """
    if text is None:
        return Keys()
    words = re.split(r"[\s,]+", text.strip(" \t\r\n,"))
    return Keys(tuple(_key(VARIABLE, word, number) for number, word in enumerate(words, 1)))


def read_peer_key(text: str | None) -> Secret | None:
    """The one key that peers are shown. Raises UsageError, never with the key."""
    return None if text is None else _key(PEERS_VARIABLE, text.strip(), 1)


def _key(variable: str, word: str, number: int) -> Secret:
    if not _KEY.fullmatch(word):
        which = f"key {number} has {len(word)} characters" if word else "it holds no key"
        message = f"{variable}: {which}; a key is 16 to 512 printable ASCII characters"
        raise UsageError(message, hint=_HINT, place=variable)
    return Secret(word)


def _bearer(headers: Mapping[str, str]) -> str:
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()


def _refusal(message: str) -> Fault:
    return Fault(401, message, "invalid_api_key")
