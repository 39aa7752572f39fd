"""Headers of one connection stay on it, and only a mesh may speak for a mesh."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from meshctl.mesh.headers import named, request_id, returned, sent


def test_credentials_and_connection_headers_are_not_sent_on() -> None:
    headers = {
        "Host": "h", "Authorization": "Bearer x", "Cookie": "c", "Connection": "close",
        "Content-Length": "3", "Content-Encoding": "gzip", "x-mesh-hop": "1",
        "Content-Type": "application/json", "traceparent": "00-1",
    }  # fmt: skip

    assert sent(headers) == {
        "Content-Type": "application/json",
        "traceparent": "00-1",
        "Accept-Encoding": "identity",
    }


@pytest.mark.parametrize(
    "name",
    [
        "Metadata-Flavor", "Metadata", "X-Metadata-Token", "X-aws-ec2-metadata-token",
        "X-API-Key", "api-key", "X-Goog-Api-Key", "X-Goog-IAP-JWT-Assertion",
        "Proxy-Authorization", "Proxy-Anything", "X-Serverless-Authorization",
        "X-Original-Authorization", "X-Forwarded-Access-Token", "X-Forwarded-User", "Forwarded",
        "X-Auth-Request-Email", "X-Access-Token", "Apikey", "Range", "If-None-Match",
    ],
)  # fmt: skip
def test_what_opens_a_door_or_claims_a_person_is_not_sent_on(name: str) -> None:
    assert sent({name: "secret", "x-request-id": "1"}) == {
        "x-request-id": "1",
        "Accept-Encoding": "identity",
    }


def test_what_connection_names_stays_on_that_connection() -> None:
    headers = {"Connection": "close, X-Own", "x-own": "1", "x-far": "2"}

    assert sent(headers) == {"x-far": "2", "Accept-Encoding": "identity"}


def test_a_header_that_came_twice_goes_on_with_both_values() -> None:
    headers = CIMultiDict([("baggage", "a=1"), ("x-far", "2"), ("Baggage", "b=2")])

    assert sent(headers) == {"baggage": "a=1, b=2", "x-far": "2", "Accept-Encoding": "identity"}


def test_an_engine_cannot_claim_a_release_but_a_peer_can() -> None:
    headers = {"X-Mesh-Release": "r9", "Transfer-Encoding": "chunked", "Retry-After": "3"}

    assert returned(headers, from_mesh=False) == {"retry-after": "3"}
    assert returned(headers, from_mesh=True) == {"x-mesh-release": "r9", "retry-after": "3"}


def test_a_request_keeps_the_name_its_client_gave_it_if_that_can_be_logged() -> None:
    assert request_id({"x-request-id": "req_1.2"}, "ours") == "req_1.2"
    for bad in ("", "a b", "a\nb", "x" * 129, "ü"):
        assert request_id({"x-request-id": bad}, "ours") == "ours"


def test_a_request_is_sent_on_with_one_name() -> None:
    assert named({"X-Request-Id": "theirs", "a": "b"}, "ours") == {"a": "b", "x-request-id": "ours"}
