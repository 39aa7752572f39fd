"""Identity tokens: JWT-shaped, signed with a key kept in the data folder."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from pathlib import Path
from typing import Any

from meshctl.emulator import disk

ISSUER = "https://accounts.google.com"


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Tokens:
    """Issues and reads identity tokens."""

    def __init__(self, key_file: Path) -> None:
        if not key_file.exists():
            disk.write_bytes(key_file, secrets.token_bytes(32))
            key_file.chmod(0o600)
        self._key = key_file.read_bytes()

    def issue(self, email: str, audience: str, seconds: int) -> str:
        """A token for one audience, valid for the given seconds."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": audience, "sub": email, "azp": email, "email": email}
        claims |= {"email_verified": True, "iat": now, "exp": now + seconds}  # type: ignore[dict-item]
        head = _b64(b'{"alg":"HS256","typ":"JWT"}') + "." + _b64(json.dumps(claims).encode())
        return head + "." + self._sign(head)

    def _sign(self, head: str) -> str:
        return _b64(hmac.new(self._key, head.encode(), hashlib.sha256).digest())

    def read(self, token: str) -> dict[str, Any] | None:
        """The claims of a token that is ours and has not expired, else None."""
        head, _, signature = token.rpartition(".")
        if not head or not hmac.compare_digest(signature.encode(), self._sign(head).encode()):
            return None
        try:
            claims: dict[str, Any] = json.loads(_unb64(head.split(".")[1]))
        except (ValueError, IndexError):
            return None
        return claims if claims.get("exp", 0) > time.time() else None
