"""What the cloud's errors mean, told by the status in the body and not by a library's class."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
from google.api_core import exceptions as api
from google.auth.exceptions import RefreshError

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.gcp import (
    AlreadyExists,
    ApiError,
    Calls,
    Cloud,
    Conflict,
    LostAnswer,
    NotFound,
    client_arguments,
    identity_token,
    refusal,
    translated,
)
from tests.fakes.fake_http import FakeHttp, answer

TOKEN = "POST /v1/projects/-/serviceAccounts/meshctl@local.iam.gserviceaccount.com:generateIdToken"
EMBEDDED = Cloud("p", "r", "http://127.0.0.1:1")

CLOUD = Cloud("my-project", "us-central1")


def body(status: str) -> requests.Response:
    response = requests.Response()
    error = {"error": {"status": status, "message": "what it said"}}
    response._content = json.dumps(error).encode()
    return response


@pytest.mark.parametrize(
    ("raised", "status", "ours"),
    [
        (api.Conflict, "ABORTED", Conflict),
        (api.Conflict, "ALREADY_EXISTS", AlreadyExists),
        (api.NotFound, "NOT_FOUND", NotFound),
        (api.BadRequest, "FAILED_PRECONDITION", ApiError),
        (api.Forbidden, "PERMISSION_DENIED", ApiError),
        (api.TooManyRequests, "RESOURCE_EXHAUSTED", LostAnswer),
        (api.ServiceUnavailable, "UNAVAILABLE", LostAnswer),
        (api.InternalServerError, "INTERNAL", LostAnswer),
    ],
)
def test_the_status_in_the_body_decides(raised: Any, status: str, ours: type) -> None:
    with pytest.raises(MeshctlError) as found, translated(CLOUD, "here"):
        raise raised("a class that says less", response=body(status))

    assert type(found.value) is ours
    assert "what it said" in found.value.message
    assert found.value.place == "here"


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        (requests.ConnectionError("refused"), LostAnswer),
        (requests.ReadTimeout("late"), LostAnswer),
        (api.RetryError("late", None), LostAnswer),
        (api.GatewayTimeout("late"), LostAnswer),
        (api.Conflict("no body"), Conflict),
        (RefreshError("expired"), Unreachable),
    ],
)
def test_what_comes_without_a_body_is_classified_too(raised: Exception, ours: type) -> None:
    with pytest.raises(ours), translated(CLOUD, "here"):
        raise raised


def answered(status: int, text: str, **headers: str) -> requests.Response:
    response = requests.Response()
    response.status_code, response._content = status, text.encode()
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return response


def refused(code: int, text: str, only_json: bool = True, **headers: str) -> MeshctlError:
    """What becomes of an answer, by the way that the generated clients take."""
    response = _sent(answered(code, text, **headers))
    with pytest.raises(MeshctlError) as found, translated(CLOUD, "here", only_json=only_json):
        raise api.from_http_response(response)
    return found.value


def _sent(response: requests.Response) -> requests.Response:
    response.request = requests.Request("GET", "https://run.googleapis.com/v2/x").prepare()
    return response


def violation(*rows: Any) -> str:
    details = [
        {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": list(rows)},
    ]
    error = {"status": "INVALID_ARGUMENT", "message": "The request has errors", "details": details}
    return json.dumps({"error": error})


def test_fields_that_are_wrong_are_named_as_gcloud_names_them() -> None:
    tag = {"field": "traffic[].tag", "description": "may not contain a duplicate tag"}
    most = {"field": "template.scaling", "description": "Max instances must be set to 1"}

    error = refused(400, violation(tag, most))

    assert "traffic[].tag: may not contain a duplicate tag; template.scaling: Max" in error.message
    assert "The request has errors" not in error.message
    assert type(error) is ApiError


@pytest.mark.parametrize(
    "text",
    [
        violation("no object"),
        violation({"field": None}),
        violation().replace('"fieldViolations": []', '"fieldViolations": 7'),
    ],
)
def test_details_that_are_none_leave_the_message(text: str) -> None:
    error = refused(400, text)

    assert type(error) is ApiError
    assert "The request has errors" in error.message


PAGE = "<!DOCTYPE html><html><title>Error 502</title>" + "<p>x</p>" * 1000


@pytest.mark.parametrize(
    ("code", "ours"), [(502, LostAnswer), (404, LostAnswer), (403, ApiError), (409, Conflict)]
)
@pytest.mark.parametrize("text", [PAGE, "\n <html>", "", "nothing", "[]"])
def test_what_is_no_json_of_google_is_told_in_a_line(code: int, ours: type, text: str) -> None:
    error = refused(code, text)

    assert type(error) is ours
    assert f"HTTP {code}: the answer is not the JSON of a Google API" in error.message
    assert len(error.message) < 120


@pytest.mark.parametrize(
    "text", ['{"error": "no"}', '{"error": {"details": 7}}', '{"error": 7}', "7"]
)
def test_json_over_which_the_library_stumbles_is_no_answer(text: str) -> None:
    error = refused(400, text)

    assert "not the JSON of a Google API" in error.message


def test_a_bug_of_ours_is_not_taken_for_a_bad_answer() -> None:
    with pytest.raises(AttributeError), translated(CLOUD, "here"):
        raise AttributeError("ours")


def test_a_good_status_with_a_page_in_it_is_no_answer() -> None:
    from google.protobuf.json_format import Parse
    from google.rpc.status_pb2 import Status

    with pytest.raises(LostAnswer, match="not the JSON"), translated(CLOUD, "here"):
        Parse(PAGE, Status())
    with pytest.raises(LostAnswer, match="not the JSON"), translated(CLOUD, "here"):
        Parse(b"\xff\xfe", Status())


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0), ("-3", 0.0), ("inf", 0.0),
     ("nan", 0.0), ("", 0.0)],
)  # fmt: skip
def test_retry_after_is_taken_over(header: str, seconds: float) -> None:
    error = refused(429, '{"error": {"status": "RESOURCE_EXHAUSTED"}}', Retry_After=header)

    assert isinstance(error, LostAnswer)
    assert error.retry_after_s == seconds


@pytest.mark.parametrize(
    "status", ["INVALID_ARGUMENT", "PERMISSION_DENIED", "UNAUTHENTICATED", "ABORTED", "UNAVAILABLE"]
)
def test_every_no_says_what_to_do_next(status: str) -> None:
    body = json.dumps({"error": {"status": status, "message": "no"}})

    assert refused(400, body).hint


@pytest.mark.parametrize("status", ["INTERNAL", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"])
def test_an_operation_that_failed_has_ended_and_is_no_lost_answer(status: str) -> None:
    assert isinstance(refusal(status, "GPU quota", "here"), ApiError)


def test_a_no_is_no_silence_and_silence_is_no_no() -> None:
    assert issubclass(ApiError, Refused) and not issubclass(ApiError, Unreachable)
    assert issubclass(LostAnswer, Unreachable) and not issubclass(LostAnswer, Refused)


def test_our_own_errors_pass_unchanged() -> None:
    ours = Refused("no")

    with pytest.raises(Refused) as found, translated(CLOUD, "here"):
        raise ours
    assert found.value is ours


def test_the_embedded_cloud_is_asked_anonymously_where_it_is() -> None:
    arguments = client_arguments(EMBEDDED)

    assert arguments["transport"] == "rest"
    assert arguments["client_options"] == {"api_endpoint": "http://127.0.0.1:1"}
    assert type(arguments["credentials"]).__name__ == "AnonymousCredentials"


def test_an_identity_token_is_for_the_url_of_the_service() -> None:
    http = FakeHttp({TOKEN: [answer(200, {"token": "ours"})]})

    assert identity_token(EMBEDDED, http, "http://chat.fake") == "ours"
    assert http.asked[0].body == {"audience": "http://chat.fake", "includeEmail": True}


def test_no_token_is_no_empty_token() -> None:
    http = FakeHttp({TOKEN: [answer(500)]})

    with pytest.raises(Unreachable, match="no identity token: HTTP 500"):
        identity_token(EMBEDDED, http, "http://chat.fake")


def test_every_call_is_noted_as_it_is_made() -> None:
    seen: list[str] = []
    calls = Calls(note=seen.append)

    calls.add("run services.get chat")

    assert calls.made == seen == ["run services.get chat"]


def test_a_silent_cloud_is_named_by_its_address() -> None:
    embedded = Cloud("local", "local1", endpoint="http://127.0.0.1:9")

    with pytest.raises(LostAnswer) as found, translated(embedded, "services/chat"):
        raise requests.ConnectionError("refused")

    assert found.value.place == "services/chat at http://127.0.0.1:9"
    assert "emulator: true" in found.value.hint
