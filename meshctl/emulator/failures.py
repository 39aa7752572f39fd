"""Errors the cloud answers with, and their JSON envelope."""

from __future__ import annotations

from typing import Any

# facts s8: google.rpc code, HTTP status and name of each error the services use.
CODES = {
    "CANCELLED": (1, 499),
    "UNKNOWN": (2, 500),
    "INVALID_ARGUMENT": (3, 400),
    "DEADLINE_EXCEEDED": (4, 504),
    "NOT_FOUND": (5, 404),
    "ALREADY_EXISTS": (6, 409),
    "PERMISSION_DENIED": (7, 403),
    "RESOURCE_EXHAUSTED": (8, 429),
    "FAILED_PRECONDITION": (9, 400),
    "ABORTED": (10, 409),
    "INTERNAL": (13, 500),
    "UNAVAILABLE": (14, 503),
    "UNAUTHENTICATED": (16, 401),
}


class ApiError(Exception):
    """An answer that is an error: HTTP status, google.rpc status name, message, details."""

    def __init__(
        self,
        status: str,
        message: str,
        *,
        http: int | None = None,
        details: list[dict[str, Any]] | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.http = http or CODES.get(status, (2, 500))[1]
        self.details, self.reason = details or [], reason

    def body(self) -> dict[str, Any]:
        """The error envelope; Storage adds `errors` with a reason."""
        error: dict[str, Any] = {"code": self.http, "message": self.message, "status": self.status}
        if self.details:
            error["details"] = self.details
        if self.reason:
            error["errors"] = [{"domain": "global", "reason": self.reason, "message": self.message}]
        return {"error": error}


class Failed(Exception):
    """A reconciliation that ended badly: google.rpc code, message, and the condition's reason."""

    def __init__(self, code: int, message: str, reason: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.reason = code, message, reason or {}


def invalid(message: str, field: str | None = None) -> ApiError:
    """400 INVALID_ARGUMENT, with a field violation when the field is known."""
    details = []
    if field:
        violation = {"field": field, "description": message}
        details = [
            {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}
        ]
    return ApiError("INVALID_ARGUMENT", message, details=details)


def missing(message: str) -> ApiError:
    """404 NOT_FOUND."""
    return ApiError("NOT_FOUND", message)


def exists(message: str) -> ApiError:
    """409 ALREADY_EXISTS."""
    return ApiError("ALREADY_EXISTS", message)
