"""A request that reached a revision, as it ended: what is counted and logged of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Done:
    """One request that reached a revision, as it ended."""

    revision: str
    status: int
    seconds: float
    method: str
    url: str
    user_agent: str

    def entry(self) -> dict[str, Any]:
        """Its log entry: the severity follows the status."""
        severity = "INFO" if self.status < 400 else "WARNING" if self.status < 500 else "ERROR"
        request = {
            "requestMethod": self.method,
            "requestUrl": self.url,
            "status": self.status,
            "userAgent": self.user_agent,
            "latency": f"{self.seconds:.6f}s",
            "protocol": "HTTP/1.1",
        }
        return {"severity": severity, "httpRequest": request}
