"""The process: one per folder, one port, restarts, kills, resets, faults, settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import run_v2
from google.cloud.devtools import cloudbuild_v1

from tests.emulator.cloud.embedded import PARENT, ask, eventually, fetch

REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION


def second(data: Path, *more: str) -> tuple[int, str]:
    argv = [sys.executable, "-m", "meshctl.emulator", "--data", str(data), *more]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr.strip()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_second_instance_on_the_folder_gives_up(shared: Any) -> None:
    code, text = second(shared.data)

    assert code == 75
    assert "already runs" in text and "\n" not in text


def test_a_taken_port_is_named(shared: Any, tmp_path: Path) -> None:
    port = shared.url.rsplit(":", 1)[1]

    code, text = second(tmp_path / "other", "--port", port)

    assert code == 98
    assert port in text and "\n" not in text


def test_the_endpoint_file_tells_who_listens(shared: Any) -> None:
    entry = json.loads((shared.data / "endpoint.json").read_text())

    fields = Path(f"/proc/{entry['pid']}/stat").read_text().rsplit(")", 1)[1].split()
    assert entry["pid_start"] == int(fields[19])
    assert entry["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert int(entry["url"].rsplit(":", 1)[1]) < 32768


def test_state_and_ports_survive_a_kill(own: Any) -> None:
    own.start()
    own.build("repo/app:v1")
    service = own.create("chat", own.template(revision="chat-a"))
    service.traffic = [
        run_v2.TrafficTarget(type_=REVISION, revision="chat-a", percent=100, tag="t")
    ]
    service = own.update(service, "traffic")
    child, url = ask(service.uri)["pid"], own.url
    upload = own.storage.bucket("src").blob("half").create_resumable_upload_session(size=4)
    fetch(upload, method="PUT", data=b"ab", headers={"Content-Range": "bytes 0-1/4"})

    own.kill()
    eventually(lambda: not alive(child))
    own.start()

    after = own.get("chat")
    assert own.url == url and after == service
    assert ask(after.uri)["release"] == ask(after.traffic_statuses[0].uri)["release"] == "a"
    assert next(iter(own.builds.list_builds(project_id="p"))).images == ["repo/app:v1"]
    done = fetch(upload, method="PUT", data=b"cd", headers={"Content-Range": "bytes 2-3/4"})
    assert done[0] == 200
    assert own.storage.bucket("src").blob("half").download_as_bytes() == b"abcd"
    assert own.stop() == 0
    assert not (own.data / "endpoint.json").exists()


def test_grandchildren_of_a_killed_emulator_are_swept(own: Any) -> None:
    own.start()
    own.build("repo/app:v1")
    files = {
        "run.sh": "#!/bin/sh\nsleep 300 &\necho $! > $HOME/pid\nexec /usr/bin/env python3 app.py\n",
        "app.py": "import http.server, os\nhttp.server.HTTPServer(('127.0.0.1', "
        "int(os.environ['PORT'])), http.server.SimpleHTTPRequestHandler).serve_forever()\n",
        "Dockerfile": 'FROM scratch\nCOPY app.py tool.py /\nENTRYPOINT ["/tool.py"]\n',
    }
    files["tool.py"] = files.pop("run.sh")
    own.build("repo/tree:v1", files)
    own.create("tree", own.template(image="repo/tree:v1"))
    pid = int((own.data / "home" / "pid").read_text())
    own.kill()
    assert alive(pid)

    own.start()

    eventually(lambda: not alive(pid))


def test_a_pending_operation_fails_at_a_restart_and_the_service_goes_on(own: Any) -> None:
    own.start(startup_budget_seconds=2.0)
    own.build("repo/app:v1")
    body = {
        "template": {
            "containers": [{"image": "repo/app:v1", "env": [{"name": "MODE", "value": "silent"}]}]
        }
    }
    path = f"/v2/{PARENT}/services?serviceId=chat"
    operation = own.call("POST", path, body)[1]["name"]
    time.sleep(0.3)

    own.kill()
    own.start(startup_budget_seconds=2.0)

    found = own.call("GET", f"/v2/{operation}")[1]
    assert found["done"] is True and found["error"]["code"] == 13
    eventually(lambda: not own.get("chat").reconciling)


def test_a_reset_forgets_everything_but_the_port(own: Any) -> None:
    own.start()
    own.build("repo/app:v1")
    child = ask(own.create("chat").uri)["pid"]

    status, answer = own.call("POST", "/emulator/reset")

    assert status == 200 and answer["url"] == own.url
    assert (answer["services"], answer["instances"], answer["buckets"]) == (0, 0, 0)
    assert not alive(child)
    assert own.call("GET", "/emulator/images")[1] == {"repositories": []}
    own.build("repo/app:v1")
    assert ask(own.create("chat").uri)["release"] == "a"


def test_a_stop_by_request_ends_with_zero(own: Any) -> None:
    own.start()

    answer = own.call("POST", "/emulator/stop")

    assert answer[0] == 200
    assert own.process.wait(10) == 0


def test_only_loopback_names_are_served(shared: Any) -> None:
    status, _, _ = fetch(shared.url + "/emulator/status", headers={"Host": "evil.example"})

    assert status == 403


def test_an_ordered_error_comes_as_often_as_ordered(cloud: Any) -> None:
    fault = {
        "method": "GET",
        "path": "/services/chat",
        "do": "status",
        "status": 503,
        "error_status": "UNAVAILABLE",
        "times": 1,
        "after": 1,
    }
    cloud.create("chat")
    cloud.call("POST", "/emulator/faults", fault)

    cloud.get("chat")
    with pytest.raises(exceptions.ServiceUnavailable):
        cloud.get("chat")
    cloud.get("chat")


def test_a_lost_answer_leaves_the_write_done(cloud: Any) -> None:
    service = cloud.create("chat")
    cloud.call("POST", "/emulator/faults", {"method": "PATCH", "path": "chat", "do": "drop"})
    service.labels["a"] = "b"

    with pytest.raises(Exception, match=r"[Cc]onnection|Remote"):
        cloud.update(service, "labels")

    assert dict(cloud.get("chat").labels) == {"a": "b"}


def test_ordered_latency_delays_the_answer(cloud: Any) -> None:
    cloud.call("POST", "/emulator/faults", {"do": "latency", "seconds": 0.5, "path": "services"})

    began = time.monotonic()
    cloud.call("GET", f"/v2/{PARENT}/services")

    assert time.monotonic() - began >= 0.5


def test_an_unknown_setting_is_refused_with_the_nearest_name(cloud: Any) -> None:
    status, answer = cloud.call("PUT", "/emulator/settings", {"idle_second": 1.0})

    assert status == 400
    assert "did you mean 'idle_seconds'" in answer["error"]["message"]


def test_output_is_kept_per_revision(cloud: Any) -> None:
    with pytest.raises(exceptions.FailedPrecondition):
        cloud.create("chat", cloud.template(revision="chat-loud", env={"MODE": "exit"}))

    text = (cloud.data / "logs" / "chat-loud.log").read_text()

    assert "the engine is out of memory" in text


def test_the_parent_environment_does_not_leak(own: Any) -> None:
    os.environ["SECRET_OF_THE_HOST"] = "x"
    try:
        own.start()
    finally:
        del os.environ["SECRET_OF_THE_HOST"]
    own.build("repo/app:v1")

    assert "SECRET_OF_THE_HOST" not in ask(own.create("chat").uri)["env"]


def test_a_build_cut_by_a_kill_is_found_failed_and_its_program_gone(own: Any) -> None:
    own.start()
    step = cloudbuild_v1.BuildStep(name="bash", args=["-c", "echo $$$$ > pid; exec sleep 60"])
    build = cloudbuild_v1.Build(steps=[step])
    operation = own.builds.create_build(project_id="p", build=build, retry=None)
    build_id = operation.metadata.build.id
    file = own.data / "builds" / "work" / build_id / "workspace" / "pid"
    eventually(lambda: file.exists() and file.read_text().strip())
    pid = int(file.read_text())

    own.kill()
    own.start()

    eventually(lambda: not alive(pid))
    found = own.builds.get_build(project_id="p", id=build_id)
    assert found.status == cloudbuild_v1.Build.Status.INTERNAL_ERROR


def test_a_request_in_flight_finishes_before_a_graceful_stop(own: Any) -> None:
    own.start()
    own.build("repo/app:v1")
    service = own.create("chat")

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(fetch, service.uri + "/sleep/0.6")
        time.sleep(0.2)
        code = own.stop()

    assert asked.result()[0] == 200
    assert code == 0
