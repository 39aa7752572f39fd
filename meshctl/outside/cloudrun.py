"""The Cloud Run door: services, revisions and access, as the JSON the REST API documents.

Each method is one API call, one for each page of a list, or one and the polling of its operation;
none is retried here. Who writes must read first and carry the etag: a lost answer is found out by
reading, never by writing again blindly. `retries.py` holds the policy for whoever calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from meshctl.outside.gcp import (
    NO_JSON,
    Calls,
    Cloud,
    LostAnswer,
    client_arguments,
    refusal,
    translated,
)

Json = dict[str, Any]
INVOKER = "roles/run.invoker"
CALL_TIMEOUT_S = 30.0
PAGE = 100
"""Rows asked for at once. The most that Cloud Run gives is not documented; it may give fewer."""
OPERATION_S = 20.0
"""So long an operation is asked how far it is. One that goes on counts as a lost answer: whether
the service got there is then read from the service, for an operation may never end."""


class CloudRunApi(Protocol):
    """What targets/cloudrun asks of the cloud."""

    cloud: Cloud

    def get_service(self, name: str) -> Json | None: ...
    def list_services(self) -> list[Json]: ...
    def list_revisions(self, service: str) -> list[Json]: ...
    def create_service(self, name: str, body: Json) -> Json: ...
    def update_service(self, name: str, body: Json, mask: list[str]) -> Json: ...
    def delete_service(self, name: str, etag: str) -> None: ...
    def delete_revision(self, service: str, revision: str) -> None: ...
    def get_policy(self, name: str) -> Json: ...
    def set_policy(self, name: str, policy: Json) -> Json: ...


class RestCloudRun:
    """The real google-cloud-run client over REST."""

    def __init__(self, cloud: Cloud, calls: Calls, operation_s: float = OPERATION_S) -> None:
        self.cloud, self.calls, self.operation_s = cloud, calls, operation_s
        self._services: Any = None
        self._revisions: Any = None

    def get_service(self, name: str) -> Json | None:
        from meshctl.outside.gcp import NotFound

        try:
            with self._call("services.get", name):
                found = _json(self._client().get_service(name=self._path(name), **_ONCE))
                if not found.get("name"):
                    raise LostAnswer(NO_JSON, place=self._path(name), hint="try again in a minute")
                return found
        except NotFound:
            return None

    def list_services(self) -> list[Json]:
        """Every service of the region."""
        with self._call("services.list", self.cloud.parent):
            request = {"parent": self.cloud.parent, "page_size": PAGE}
            pages = self._client().list_services(request, **_ONCE).pages
            return self._listed(pages, "services", self.cloud.parent)

    def list_revisions(self, service: str) -> list[Json]:
        """Every revision of a service, the newest first; `-` is every service of the region."""
        from google.cloud import run_v2

        with self._call("revisions.list", service):
            if self._revisions is None:
                self._revisions = run_v2.RevisionsClient(**client_arguments(self.cloud))
            request = {"parent": self._path(service), "page_size": PAGE}
            pages = self._revisions.list_revisions(request, **_ONCE).pages
            return self._listed(pages, "revisions", service)

    def _listed(self, pages: Iterable[Any], kind: str, of: str) -> list[Json]:
        """The rows of every page; the first one was noted with its call, each further is a call."""
        rows: list[Json] = []
        for number, page in enumerate(pages):
            if number:
                self.calls.add(f"run {kind}.list {of}, page {number + 1}")
            rows += [_json(row) for row in getattr(page, kind)]
        return rows

    def create_service(self, name: str, body: Json) -> Json:
        from google.cloud import run_v2

        with self._call("services.create", name):
            request = run_v2.CreateServiceRequest(
                parent=self.cloud.parent, service_id=name, service=_service(body)
            )
            return self._finish(self._client().create_service(request, **_ONCE), name)

    def update_service(self, name: str, body: Json, mask: list[str]) -> Json:
        from google.cloud import run_v2
        from google.protobuf.field_mask_pb2 import FieldMask

        with self._call(f"services.patch {','.join(mask)}", name):
            request = run_v2.UpdateServiceRequest(
                service=_service({**body, "name": self._path(name)}),
                update_mask=FieldMask(paths=[_snake(path) for path in mask]),
            )
            return self._finish(self._client().update_service(request, **_ONCE), name)

    def delete_service(self, name: str, etag: str) -> None:
        from google.cloud import run_v2

        with self._call("services.delete", name):
            request = run_v2.DeleteServiceRequest(name=self._path(name), etag=etag)
            self._finish(self._client().delete_service(request, **_ONCE), name)

    def delete_revision(self, service: str, revision: str) -> None:
        from google.cloud import run_v2

        with self._call("revisions.delete", revision):
            if self._revisions is None:
                self._revisions = run_v2.RevisionsClient(**client_arguments(self.cloud))
            path = f"{self._path(service)}/revisions/{revision}"
            self._finish(self._revisions.delete_revision(name=path, **_ONCE), revision)

    def get_policy(self, name: str) -> Json:
        with self._call("services.getIamPolicy", name):
            policy = self._client().get_iam_policy({"resource": self._path(name)}, **_ONCE)
            return _json(policy)

    def set_policy(self, name: str, policy: Json) -> Json:
        from google.iam.v1 import policy_pb2
        from google.protobuf.json_format import ParseDict

        with self._call("services.setIamPolicy", name):
            parsed = ParseDict(policy, policy_pb2.Policy())
            request = {"resource": self._path(name), "policy": parsed}
            return _json(self._client().set_iam_policy(request, **_ONCE))

    def _client(self) -> Any:
        if self._services is None:
            from google.cloud import run_v2

            self._services = run_v2.ServicesClient(**client_arguments(self.cloud))
        return self._services

    def _path(self, name: str) -> str:
        return f"{self.cloud.parent}/services/{name}"

    def _call(self, call: str, name: str) -> Any:
        self.calls.add(f"run {call} {name}")
        place = f"{self.cloud.parent}/services/{name}"
        return translated(self.cloud, place, only_json=True)

    def _finish(self, operation: Any, name: str) -> Json:
        """Wait for a long-running operation; one that failed has ended, so its no is a no. Raises
        LostAnswer when it goes on."""
        from google.api_core.exceptions import GoogleAPICallError
        from google.api_core.future.polling import DEFAULT_POLLING

        polling = DEFAULT_POLLING.with_delay(initial=0.1, multiplier=1.5, maximum=5.0)
        try:
            return _json(operation.result(timeout=self.operation_s, polling=polling))
        except TimeoutError as error:
            message = f"its operation goes on after {self.operation_s:g} s"
            hint = f"look at it: `meshctl status {name}`"
            raise LostAnswer(message, place=self._path(name), hint=hint) from error
        except GoogleAPICallError as error:
            code = operation.operation.error.code
            if not code:
                raise
            status, message = _canonical(code), operation.operation.error.message
            raise refusal(status, message, self._path(name)) from error


_ONCE: Json = {"retry": None, "timeout": CALL_TIMEOUT_S}
"""The library's own retries sleep on the real clock and hide what happened."""


def _json(message: Any) -> Json:
    from google.protobuf.json_format import MessageToDict

    raw = getattr(type(message), "pb", None)
    document: Json = MessageToDict(raw(message) if callable(raw) else message)
    return document


def _service(body: Json) -> Any:
    from google.cloud import run_v2
    from google.protobuf.json_format import ParseDict

    return run_v2.Service(ParseDict(body, run_v2.Service.pb()()))


def _snake(path: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in path)


def _canonical(code: int) -> str:
    from google.rpc.code_pb2 import Code

    return str(Code.Name(code)) if code in Code.values() else "UNKNOWN"
