"""The key of a mesh is shown to the release that is asked, and to nobody else."""

from __future__ import annotations

import pytest

from meshctl.errors import UsageError
from meshctl.outside.http import Request
from meshctl.outside.keyed import keyed
from tests.fakes.fake_http import FakeHttp, answer, streamed


def test_without_a_key_the_door_stays_as_it_is() -> None:
    http = FakeHttp({})

    assert keyed(http, {}) is http
    assert keyed(http, {"MESHCTL_API_KEY": ""}) is http


def test_a_question_is_asked_with_the_key_whole_or_streamed() -> None:
    http = FakeHttp({"GET /a": [answer(200)], "STREAM /b": [streamed("x")]})
    door = keyed(http, {"MESHCTL_API_KEY": "key-1"})

    door.send(Request("http://m/a", headers={"Authorization": "Bearer t"}), timeout_s=1)
    with door.stream(Request("http://m/b", "POST"), timeout_s=1) as stream:
        list(stream.lines)

    assert [dict(request.headers) for request in http.asked] == [
        {"Authorization": "Bearer t", "X-Api-Key": "key-1"},
        {"X-Api-Key": "key-1"},
    ]
    assert "key-1" not in repr(http.asked) + repr(door.__dict__)


def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as refused:
        keyed(FakeHttp({}), {"MESHCTL_API_KEY": "two\nlines"})

    assert "two" not in f"{refused.value.message} {refused.value.hint}"
