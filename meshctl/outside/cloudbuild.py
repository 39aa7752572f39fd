"""The Cloud Build door: builds as the JSON the REST API documents.

Each method is one API call and none is retried here: who lost the answer of a create looks for
the build in the list, by the tag that only it can have.
"""

from __future__ import annotations

from typing import Any, Protocol

from meshctl.errors import UsageError
from meshctl.outside.gcp import Calls, Cloud, client_arguments, translated

Json = dict[str, Any]
CALL_TIMEOUT_S = 30.0
PAGE = 100


class CloudBuildApi(Protocol):
    """What build/ asks of the cloud."""

    cloud: Cloud

    def create_build(self, build: Json) -> Json: ...
    def get_build(self, id: str) -> Json: ...
    def list_builds(self, filter: str = "") -> list[Json]: ...
    def cancel_build(self, id: str) -> None: ...


class RestCloudBuild:
    """The real google-cloud-build client over REST, in the global location as gcloud has it."""

    def __init__(self, cloud: Cloud, calls: Calls) -> None:
        self.cloud, self.calls = cloud, calls
        self._made: Any = None

    def create_build(self, build: Json) -> Json:
        """Start a build and return it as it was accepted; raises UsageError for an unknown key."""
        from google.cloud.devtools import cloudbuild_v1

        parsed = cloudbuild_v1.Build(_parsed(build, "build"))
        with self._call("builds.create", self.cloud.project):
            operation = self._client().create_build(
                project_id=self.cloud.project, build=parsed, **_ONCE
            )
            return _json(operation.metadata.build)

    def get_build(self, id: str) -> Json:
        """Raises NotFound when the cloud does not know it."""
        with self._call("builds.get", id):
            return _json(self._client().get_build(project_id=self.cloud.project, id=id, **_ONCE))

    def list_builds(self, filter: str = "") -> list[Json]:
        """Every build the project still remembers, the newest first."""
        with self._call("builds.list", filter or self.cloud.project):
            request = {"project_id": self.cloud.project, "page_size": PAGE, "filter": filter}
            return [_json(build) for build in self._client().list_builds(request, **_ONCE)]

    def cancel_build(self, id: str) -> None:
        with self._call("builds.cancel", id):
            self._client().cancel_build(project_id=self.cloud.project, id=id, **_ONCE)

    def _client(self) -> Any:
        if self._made is None:
            from google.cloud.devtools import cloudbuild_v1

            self._made = cloudbuild_v1.CloudBuildClient(**client_arguments(self.cloud))
        return self._made

    def _call(self, call: str, name: str) -> Any:
        self.calls.add(f"cloudbuild {call} {name}")
        return translated(self.cloud, f"projects/{self.cloud.project}/builds")


_ONCE: Json = {"retry": None, "timeout": CALL_TIMEOUT_S}


def normalised(document: Any, place: str) -> Json:
    """A build in the one spelling of the API, whichever of the YAML spellings it came in.

    Raises UsageError, with the place, for a key or a value that Cloud Build does not know.
    """
    return _json(_parsed(document, place))


def _parsed(document: Any, place: str) -> Any:
    from google.cloud.devtools import cloudbuild_v1
    from google.protobuf.json_format import ParseDict, ParseError

    try:
        return ParseDict(document, cloudbuild_v1.Build.pb()())
    except (ParseError, AttributeError, TypeError) as error:
        raise UsageError(
            f"not a Cloud Build recipe: {str(error).splitlines()[0]}",
            place=place,
            hint="see https://cloud.google.com/build/docs/build-config-file-schema",
        ) from error


def _json(message: Any) -> Json:
    from google.protobuf.json_format import MessageToDict

    raw = getattr(type(message), "pb", None)
    document: Json = MessageToDict(raw(message) if callable(raw) else message)
    return document
