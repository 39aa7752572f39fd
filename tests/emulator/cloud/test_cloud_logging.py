"""Logging: the output of the instances, as a client of `entries:list` reads it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.cloud.embedded import Cloud, eventually, fetch

TALKER = """#!/usr/bin/env python3
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
print("model loaded", flush=True)
print("cuda is missing", file=sys.stderr, flush=True)
print('{"severity": "warning", "message": "slow", "took_s": 3}', flush=True)
print("the end", end="", flush=True)
if os.environ.get("MODE") == "exit":
    sys.exit(3)
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        self.send_response(500 if self.path.startswith("/broken") else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
DOCKERFILE = 'FROM scratch\nCOPY talker.py /talker.py\nENTRYPOINT ["/talker.py"]\n'
OF = 'resource.type="cloud_run_revision" AND resource.labels.service_name="{}"'


@pytest.fixture(scope="module")
def image(shared: Cloud) -> str:
    shared.build("repo/talker:v1", {"talker.py": TALKER, "Dockerfile": DOCKERFILE})
    return "repo/talker:v1"


def entries(cloud: Any, filter: str, **more: Any) -> tuple[list[dict[str, Any]], str]:
    body = {"resourceNames": ["projects/p"], "filter": filter, **more}
    status, answer = cloud.call("POST", "/v2/entries:list", body)
    assert status == 200, answer
    return answer.get("entries", []), answer.get("nextPageToken", "")


def refusal(cloud: Any, filter: str, **more: Any) -> str:
    body = {"resourceNames": ["projects/p"], "filter": filter, **more}
    status, answer = cloud.call("POST", "/v2/entries:list", body)
    assert (status, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")
    return str(answer["error"]["message"])


def test_each_line_is_an_entry_with_its_stream_and_severity(cloud: Any, image: str) -> None:
    made = cloud.create("loud", cloud.template(image=image, revision="loud-a"))

    eventually(lambda: len(entries(cloud, OF.format("loud"))[0]) == 3)
    rows, _ = entries(cloud, OF.format("loud"))

    found = {
        (row["logName"], row.get("severity", "DEFAULT"), row.get("textPayload")) for row in rows
    }
    names = [f"projects/p/logs/run.googleapis.com%2F{log}" for log in ("stdout", "stderr")]
    assert found == {
        (names[0], "DEFAULT", "model loaded"),
        (names[1], "DEFAULT", "cuda is missing"),
        (names[0], "WARNING", None),
    }
    assert [r["jsonPayload"] for r in rows if "jsonPayload" in r] == [
        {"message": "slow", "took_s": 3}
    ]
    assert rows[0]["resource"]["labels"] == {
        "project_id": "p",
        "location": "l",
        "service_name": "loud",
        "revision_name": "loud-a",
        "configuration_name": "loud",
    }
    assert len({row["insertId"] for row in rows}) == 3
    assert len({row["labels"]["instanceId"] for row in rows}) == 1
    assert made.latest_ready_revision.endswith("loud-a")


def test_a_container_that_exits_leaves_its_last_words_and_its_code(cloud: Any, image: str) -> None:
    with pytest.raises(Exception, match="exit"):
        cloud.create("dead", cloud.template(image=image, env={"MODE": "exit"}))

    rows, _ = entries(cloud, OF.format("dead") + ' AND severity<="WARNING"')

    assert [r.get("textPayload") for r in rows][-2:] == ["the end", "Container called exit(3)."]
    assert rows[-1]["logName"].endswith("run.googleapis.com%2Fvarlog%2Fsystem")


def test_requests_are_entries_of_their_own_log(cloud: Any, image: str) -> None:
    made = cloud.create("asked", cloud.template(image=image))
    fetch(made.uri + "/broken?a=1", headers={"User-Agent": "me"})

    rows, _ = entries(cloud, OF.format("asked") + ' logName:"requests"')

    request = rows[0]["httpRequest"]
    assert rows[0]["severity"] == "ERROR"
    assert (request["status"], request["requestMethod"]) == (500, "GET")
    assert (request["requestUrl"], request["userAgent"]) == (made.uri + "/broken?a=1", "me")


def test_a_filter_picks_by_severity_text_and_time(cloud: Any, image: str) -> None:
    cloud.create("picky", cloud.template(image=image))
    eventually(lambda: len(entries(cloud, OF.format("picky"))[0]) == 3)
    first = entries(cloud, OF.format("picky"))[0][0]

    def texts(more: str) -> list[str]:
        rows = entries(cloud, f"{OF.format('picky')} AND {more}")[0]
        return sorted(str(row.get("textPayload", row.get("jsonPayload"))) for row in rows)

    assert texts("severity>=ERROR") == []
    assert texts("severity>=WARNING") == ["{'message': 'slow', 'took_s': 3}"]
    assert texts('textPayload:"LOADED"') == ["model loaded"]
    assert len(texts(f'timestamp>"{first["timestamp"]}"')) == 2
    assert texts(f'timestamp<"{first["timestamp"]}"') == []
    log = "projects/p/logs/run.googleapis.com%2F"
    assert len(texts(f'logName=("{log}stdout" OR "{log}stderr")')) == 3
    assert texts('resource.labels.location="elsewhere"') == []


def test_pages_go_on_where_they_ended_although_more_is_written(cloud: Any, image: str) -> None:
    made = cloud.create("paged", cloud.template(image=image))
    eventually(lambda: len(entries(cloud, OF.format("paged"))[0]) == 3)
    order = {"orderBy": "timestamp desc", "pageSize": 2}
    whole, _ = entries(cloud, OF.format("paged"), orderBy="timestamp desc")

    head, token = entries(cloud, OF.format("paged"), **order)
    fetch(made.uri + "/")
    tail, end = entries(cloud, OF.format("paged"), **order, pageToken=token)

    assert (head + tail, end) == (whole, "")
    assert "page_token" in refusal(cloud, OF.format("other"), **order, pageToken=token)
    assert "page_token" in refusal(cloud, OF.format("paged"), **order, pageToken="bm8=")


@pytest.mark.parametrize(
    ("filter", "named"),
    [
        ("severity>=ERROR OR severity=INFO", "'OR'"),
        ("NOT severity>=ERROR", "'NOT'"),
        ('trace="x"', "'trace'"),
        ('textPayload=~"a.*"', "'=~'"),
        ('SEARCH("x")', "'SEARCH'"),
        ("severity>=LOUD", "'LOUD'"),
        ('timestamp>"yesterday"', "'yesterday'"),
        ("(severity=INFO)", "'('"),
        ("severity>=", "without a value"),
    ],
)
def test_a_filter_that_is_not_understood_is_refused_by_name(
    cloud: Any, filter: str, named: str
) -> None:
    assert named in refusal(cloud, filter)


def test_other_wrong_requests_are_refused(cloud: Any) -> None:
    assert "resource_names" in refusal(cloud, "", resourceNames=["folders/1"])
    assert "resource_names" in refusal(cloud, "", resourceNames=["projects/.."])
    assert "page_size" in refusal(cloud, "", pageSize=5000)
    assert "Unsupported order" in refusal(cloud, "", orderBy="severity")


def test_entries_of_another_project_are_not_seen(cloud: Any, image: str) -> None:
    cloud.create("mine", cloud.template(image=image))
    eventually(lambda: len(entries(cloud, OF.format("mine"))[0]) == 3)

    rows, _ = entries(cloud, OF.format("mine"), resourceNames=["projects/q"])

    assert rows == []


def test_entries_survive_a_restart(own: Cloud) -> None:
    own.start()
    own.build("repo/talker:v1", {"talker.py": TALKER, "Dockerfile": DOCKERFILE})
    own.create("kept", own.template(image="repo/talker:v1"))
    eventually(lambda: len(entries(own, OF.format("kept"))[0]) == 3)
    before, _ = entries(own, OF.format("kept"))

    own.kill()
    own.start()

    assert entries(own, OF.format("kept"))[0][:3] == before
