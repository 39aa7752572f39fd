"""Entries of Cloud Logging become lines, and one of them is the reason."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.observe.logs import Line, Wanted, lines_of, why_nothing
from meshctl.ui.logs import logs_document
from meshctl.ui.render import render


def entry(text: str, at: str = "2026-11-30T20:45:00Z", id: str = "1", **more: Any) -> Any:
    labels = {"service_name": "chat", "revision_name": "chat-1"}
    resource = {"type": "cloud_run_revision", "labels": labels}
    return {"textPayload": text, "timestamp": at, "insertId": id, "resource": resource} | more


def texts(*entries: Any) -> list[str]:
    return [line.text for line in lines_of(entries)]


def test_the_oldest_stands_first_whatever_the_form_of_its_time() -> None:
    newest = entry("3", "2026-11-30T20:45:00.123456789Z", "c")
    middle = entry("2", "2026-11-30T20:45:00.1Z", "b")
    oldest = entry("1", "2026-11-30T20:45:00Z", "a")

    assert texts(newest, middle, oldest) == ["1", "2", "3"]


def test_an_entry_that_comes_twice_is_one_line_and_two_of_one_moment_are_two() -> None:
    assert texts(entry("a", id="1"), entry("a", id="1"), entry("b", id="2")) == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"jsonPayload": {"message": "hello", "level": "info"}}, "hello"),
        ({"jsonPayload": {"b": 1, "a": [2]}}, '{"a": [2], "b": 1}'),
        ({"httpRequest": {"requestMethod": "GET", "requestUrl": "http://x/v1", "status": 200,
                          "latency": "0.512345678s"}}, "GET /v1 200 0.512s"),
        ({"protoPayload": {"status": {"message": "not ready"}}}, "not ready"),
        ({"textPayload": 7}, "(an entry without text)"),
        ({"jsonPayload": "odd", "severity": 99, "timestamp": None}, "(an entry without text)"),
    ],
)  # fmt: skip
def test_an_entry_of_any_kind_says_something(given: Any, said: str) -> None:
    assert texts(given) == [said]


def test_the_filter_is_in_the_language_of_cloud_logging() -> None:
    wanted = Wanted("chat", "us-central1", "2026-11-30T20:45:00Z", "chat-1", "WARNING")

    assert wanted.filter() == (
        'resource.type="cloud_run_revision" AND resource.labels.service_name="chat" '
        'AND resource.labels.location="us-central1" AND timestamp>="2026-11-30T20:45:00Z" '
        'AND resource.labels.revision_name="chat-1" AND severity>=WARNING'
    )


def test_a_known_signature_is_the_reason_and_brings_its_remedy() -> None:
    lines = lines_of([
        entry("loading", id="a"),
        entry("llama-server: error while loading shared libraries: libcuda.so.1: cannot open",
              id="b"),
        entry("Error: the engine is gone", id="c"),
    ])  # fmt: skip

    document = logs_document("chat", "gcp", lines)

    assert "libcuda.so.1" in (document.cause or "")
    assert "lacks this library" in (document.remedy or "")


def test_without_a_known_one_the_first_complaint_is_the_reason() -> None:
    lines = lines_of([entry("up", id="a"), entry("ValueError: bad weights", id="b")])

    document = logs_document("chat", "gcp", lines)

    assert (document.cause, document.remedy) == ("ValueError: bad weights", None)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("KeyError: rope", "KeyError: rope"),
        ("0.00.006.418 E odd tensor shape", "odd tensor shape"),
        ("0.00.006.418 E failed to open GGUF file 'm.gguf' (No such file or directory)",
         "failed to open GGUF file 'm.gguf' (No such file or directory)"),
    ],
)  # fmt: skip
def test_an_engine_behind_a_mesh_is_understood_through_its_mark(said: str, cause: str) -> None:
    payload = {"message": f"[org/m:q4] {said}", "model": "org/m:q4"}
    structured = {**entry("", id="b"), "textPayload": None, "jsonPayload": payload}
    lines = lines_of([entry("mesh: up", id="a"), structured])

    document = logs_document("chat", "gcp", lines)

    assert document.cause == cause
    assert document.lines[-1].text == f"[org/m:q4] {said}"


def test_a_quiet_log_has_no_reason() -> None:
    assert logs_document("chat", "gcp", lines_of([entry("listening")])).cause is None


def line(text: str, revision: str = "chat-1", at: str = "2026-11-30T20:45:12.3Z") -> Line:
    return Line(at, text, "DEFAULT", revision, text)


def test_a_revision_is_shown_only_where_there_are_several_and_by_what_differs() -> None:
    one = render(logs_document("chat", "gcp", [line("a")]))
    two = render(logs_document("chat", "gcp", [line("a", "chat-r1-x"), line("b", "chat-r2-y")]))

    assert one == ["20:45:12  a"]
    assert two == ["20:45:12 r1-x  a", "20:45:12 r2-y  b"]


def test_the_day_is_shown_where_there_are_several() -> None:
    shown = render(logs_document("chat", "gcp", [line("a", at="2026-11-29T23:59:59Z"), line("b")]))

    assert shown == ["11-29 23:59:59  a", "11-30 20:45:12  b"]


def test_the_line_with_the_reason_is_marked_and_named_at_the_end() -> None:
    shown = render(logs_document("chat", "gcp", [line("up"), line("ValueError: bad weights")]))

    assert shown[1:] == ["20:45:12  ✗ ValueError: bad weights",
                         "✗ first reason: ValueError: bad weights"]  # fmt: skip


def test_nothing_found_says_why_that_may_be() -> None:
    note = why_nothing(Wanted("chat", "r", "x", "chat-1", "ERROR"), "1h")

    assert all(part in note for part in ("last 1h", "severity", "revision", "--since 24h"))
