"""What every Google Cloud door shares: where to ask, with which credentials, and what errors mean.

The embedded cloud and the real one take the same path; only endpoint and credentials differ.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.http import Http, Request
from meshctl.outside.persons import persons_token
from meshctl.outside.shell import LocalShell, Shell


@dataclass(frozen=True)
class Cloud:
    """One project and region; `endpoint` is the embedded cloud's URL, None for the real cloud."""

    project: str
    region: str
    endpoint: str | None = None

    @property
    def parent(self) -> str:
        return f"projects/{self.project}/locations/{self.region}"


@dataclass
class Calls:
    """Every API call made, in order; `note` sees each as it is made (for -v and for the tests)."""

    made: list[str] = field(default_factory=list)
    note: Callable[[str], None] = lambda _: None

    def add(self, call: str) -> None:
        self.made.append(call)
        self.note(call)


class ApiError(Refused):
    """The cloud answered no; `status` is the canonical name of its body, such as ABORTED."""

    def __init__(self, status: str, message: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(f"{message} ({status})", place=place, hint=hint)
        self.status = status


class NotFound(ApiError):
    """There is no such thing."""


class Conflict(ApiError):
    """Somebody changed it since it was read; nothing was written."""


class AlreadyExists(ApiError):
    """The name is taken."""


class LostAnswer(Unreachable):
    """The connection broke or the cloud failed; a write may or may not have happened.

    `retry_after_s` is what the answer asked for, in seconds, 0 where there was none.
    """

    def __init__(
        self, message: str, *, place: str = "", hint: str = "", retry_after_s: float = 0.0
    ) -> None:
        super().__init__(message, place=place, hint=hint)
        self.retry_after_s = retry_after_s


class NoCredentials(Unreachable):
    """Nobody said who is asking."""


NO_JSON = "the answer is not the JSON of a Google API"
_TRANSIENT = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNKNOWN"}
_KNOWN: dict[str, type[ApiError]] = {
    "NOT_FOUND": NotFound,
    "ABORTED": Conflict,
    "ALREADY_EXISTS": AlreadyExists,
}


def credentials(cloud: Cloud) -> Any:
    """Anonymous for the embedded cloud; otherwise the application default credentials."""
    if cloud.endpoint:
        from google.auth.credentials import AnonymousCredentials

        return AnonymousCredentials()  # type: ignore[no-untyped-call]
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        found, _ = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    except DefaultCredentialsError as error:
        raise NoCredentials(
            "no Google credentials were found",
            place=cloud.parent,
            hint="run `gcloud auth application-default login`",
        ) from error
    return found


def client_arguments(cloud: Cloud) -> dict[str, Any]:
    """Arguments for a generated client: REST, our endpoint when there is one, and credentials."""
    arguments: dict[str, Any] = {"transport": "rest", "credentials": credentials(cloud)}
    if cloud.endpoint:
        arguments["client_options"] = {"api_endpoint": cloud.endpoint}
    return arguments


def bypass_proxies_on_loopback() -> None:
    """Keep `http_proxy` from hijacking the embedded cloud: every library reads NO_PROXY."""
    known = [part for part in os.environ.get("NO_PROXY", "").split(",") if part]
    os.environ["NO_PROXY"] = ",".join(dict.fromkeys([*known, "127.0.0.1", "localhost"]))
    os.environ["no_proxy"] = os.environ["NO_PROXY"]


@contextlib.contextmanager
def translated(cloud: Cloud, what: str, *, only_json: bool = False) -> Iterator[None]:
    """Turn the libraries' errors into ours, classified by the status in the body, not by class.

    Over REST the library raises plain Conflict for ABORTED and for ALREADY_EXISTS alike. With
    `only_json` a 404 without a Google error in it is no answer: it comes from somebody in between,
    who knows nothing of what is there. Storage alone says 404 in plain text.
    """
    place = f"{what} at {cloud.endpoint}" if cloud.endpoint else what
    import requests
    from google.api_core import exceptions as api
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.protobuf.json_format import ParseError

    try:
        yield
    except MeshctlError:
        raise
    except api.GoogleAPICallError as error:
        raise _classified(error, place, only_json) from error
    except api.RetryError as error:
        hint = "ask again later: `meshctl status`"
        raise LostAnswer("the cloud did not finish in time", place=place, hint=hint) from error
    except (ParseError, UnicodeDecodeError) as error:
        raise LostAnswer(NO_JSON, place=place, hint=_where_to_look(cloud)) from error
    except (requests.RequestException, TransportError, ConnectionError, TimeoutError) as error:
        message = f"no answer from the cloud: {_short(error)}"
        raise LostAnswer(message, place=place, hint=_where_to_look(cloud)) from error
    except (AttributeError, TypeError) as error:
        if not _stumbled(error):
            raise
        raise LostAnswer(NO_JSON, place=place, hint=_where_to_look(cloud)) from error
    except GoogleAuthError as error:
        message = f"not authenticated: {_short(error)}"
        raise Unreachable(message, place=place, hint=_HINTS["UNAUTHENTICATED"]) from error


def _stumbled(error: BaseException) -> bool:
    """Whether the library that reads errors fell over one: it takes all JSON for Google's."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (
        trace is not None and trace.tb_frame.f_globals["__name__"] == "google.api_core.exceptions"
    )


def _where_to_look(cloud: Cloud) -> str:
    if cloud.endpoint:
        return "start the one that is meant, or write `emulator: true`, which starts itself"
    return "check the network, then try again"


def _classified(error: Any, place: str, only_json: bool) -> MeshctlError:
    """The error for an answer that is no success, by the status in its body where it has one."""
    body = _error_of(error)
    status, message = _status(error, body), _message(error, body)
    if only_json and status == "NOT_FOUND" and not body and error.response is not None:
        status = "UNKNOWN"
    return classified(status, message, place, retry_after_s=_retry_after_s(error))


def classified(
    status: str, message: str, place: str, *, retry_after_s: float = 0.0
) -> MeshctlError:
    """The error for a canonical status: transient ones are Unreachable, the others say no."""
    if status not in _TRANSIENT:
        return refusal(status, message, place)
    return LostAnswer(
        f"the cloud answered {status}: {message}",
        place=place,
        hint="try again in a minute; -v tells of every call and every try",
        retry_after_s=retry_after_s,
    )


def refusal(status: str, message: str, place: str) -> ApiError:
    """The error for a no, be it the answer to a call or the end of an operation: an operation that
    failed has ended, whatever its status, so its answer is not lost."""
    hint = OF_QUOTA if QUOTA_EXCEEDED in message else _HINTS.get(status, "")
    return _KNOWN.get(status, ApiError)(status, message, place=place, hint=hint)


QUOTA_EXCEEDED = "Quota exceeded for total allowable count of GPUs"
"""How a revision fails for which no GPU was free; facts/cloud-run section 4, gate 2."""
OF_QUOTA = "`meshctl quota` says who holds the slots and how to get one; then deploy again"
_HINTS = {
    "UNAUTHENTICATED": "say who you are: `gcloud auth application-default login`",
    "PERMISSION_DENIED": "ask for the role it names, or act as somebody else: `gcloud auth list`",
    "INVALID_ARGUMENT": "correct what it names in the fleet file, then look at `meshctl plan`",
    "NOT_FOUND": "see what is there: `meshctl status`",
    "ABORTED": "see what is there now: `meshctl status`",
    "ALREADY_EXISTS": "see what is there: `meshctl status`",
    "FAILED_PRECONDITION": "see what is there: `meshctl status`",
}


def _error_of(error: Any) -> dict[str, Any]:
    """The `error` object of an answer's body; empty for a page of HTML, no JSON, or other JSON."""
    with contextlib.suppress(Exception):  # the body is whatever a stranger in between sent
        found = error.response.json()["error"]
        return found if isinstance(found, dict) else {}
    return {}


def _status(error: Any, body: dict[str, Any]) -> str:
    if isinstance(body.get("status"), str):
        return str(body["status"])
    if error.grpc_status_code is not None:
        return str(error.grpc_status_code.name)
    by_code = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
               404: "NOT_FOUND", 409: "ABORTED", 412: "FAILED_PRECONDITION",
               429: "RESOURCE_EXHAUSTED"}  # fmt: skip
    return by_code.get(int(error.code or 500), "UNAVAILABLE")


def _message(error: Any, body: dict[str, Any]) -> str:
    """What the cloud says is wrong: field by field where it says so, as gcloud shows it."""
    violations = _violations(body.get("details"))
    if violations:
        return "; ".join(violations)
    if isinstance(body.get("message"), str):
        return str(body["message"])
    if error.response is not None:
        return f"HTTP {int(error.code or 0)}: {NO_JSON}"
    return str(error.message)


def _violations(details: Any) -> list[str]:
    """`FIELD: DESCRIPTION` of every field violation of a google.rpc.BadRequest."""
    kinds = [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []
    rows = [row for d in kinds if str(d.get("@type", "")).endswith("/google.rpc.BadRequest")
            for row in _listed(d.get("fieldViolations")) if isinstance(row, dict)]  # fmt: skip
    told = [(row.get("field"), row.get("description")) for row in rows]
    return [": ".join(str(part) for part in pair if part) for pair in told if any(pair)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _retry_after_s(error: Any) -> float:
    """The `Retry-After` of an answer in seconds; a date, which Google does not send, counts as
    none, and so does what is no number."""
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        seconds = float(error.response.headers.get("Retry-After"))
        return seconds if 0 < seconds < math.inf else 0.0
    return 0.0


def _short(error: BaseException) -> str:
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return getattr(error, "strerror", None) or str(error)[:200]


def _vouched(audience: str) -> str:
    """From a service account's key or the metadata server. Raises the library's errors."""
    from google.auth.transport.requests import Request as AuthRequest
    from google.oauth2 import id_token

    return str(id_token.fetch_id_token(AuthRequest(), audience))  # type: ignore[no-untyped-call]


def identity_token(
    cloud: Cloud,
    http: Http,
    audience: str,
    *,
    shell: Shell | None = None,
    vouched: Callable[[str], str] = _vouched,
) -> str:
    """A token that proves who we are to a private service; the audience is the service's URL.

    Raises Unreachable when none can be had, neither as a service account nor as a person.
    """
    if cloud.endpoint:
        return _embedded_token(cloud.endpoint, http, audience)
    from google.auth.exceptions import DefaultCredentialsError

    with translated(cloud, audience):
        try:
            return vouched(audience)
        except DefaultCredentialsError:
            return persons_token(credentials(cloud), audience, shell or LocalShell())


def _embedded_token(endpoint: str, http: Http, audience: str) -> str:
    import json

    path = "/v1/projects/-/serviceAccounts/meshctl@local.iam.gserviceaccount.com:generateIdToken"
    body = {"audience": audience, "includeEmail": True}
    try:
        answer = http.send(Request(endpoint + path, "POST", body=body), timeout_s=10)
    except Unreachable as error:  # a question, so it may be asked again
        raise LostAnswer(error.message, place=error.place, hint=error.hint) from error
    if answer.status != 200:
        message = f"no identity token: HTTP {answer.status}"
        hint = "look at the embedded cloud: `meshctl emulator status`"
        raise LostAnswer(message, place=endpoint, hint=hint)
    return str(json.loads(answer.body)["token"])
