"""The embedded cloud as a real process: started once, found again, stopped for good."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from meshctl.cli.embedded import Embedded
from meshctl.cli.main import run
from meshctl.cli.settings import Settings
from meshctl.cli.world import open_world
from meshctl.errors import Refused, Unreachable
from meshctl.outside.environment import environment
from meshctl.outside.http import Request
from meshctl.outside.who import myself
from meshctl.ui.documents import Emulator

TOP = Path(__file__).parents[3]


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Embedded]:
    world = open_world(Settings())
    path = {"PYTHONPATH": str(TOP)}
    made = Embedded(tmp_path / "emulator", world.clock, world.http, environment() | path)
    yield made
    made.stop()


def test_a_start_answers_at_the_url_it_names_and_a_second_one_finds_it(embedded: Embedded) -> None:
    first = embedded.start()
    second = embedded.start()

    answer = embedded.http.send(Request(f"{first.url}/emulator/status"), timeout_s=5)
    assert answer.status == 200
    assert second == first == embedded.running()


def test_two_that_are_started_at_once_are_one(embedded: Embedded) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: embedded.start(), range(2))

    assert first == second
    assert first.alive


def test_a_stop_leaves_no_process_and_another_stop_is_fine(embedded: Embedded) -> None:
    running = embedded.start()

    embedded.stop()
    embedded.stop()

    assert not running.alive
    assert embedded.running() is None


def test_a_start_right_after_a_stop_request_waits_for_the_old_one(embedded: Embedded) -> None:
    old = embedded.start()
    embedded.http.send(Request(f"{old.url}/emulator/stop", "POST"), timeout_s=5)

    while old.alive:
        new = embedded.start()

    assert new.pid != old.pid
    assert new.alive


def test_a_file_left_by_a_dead_process_is_not_believed(embedded: Embedded) -> None:
    embedded.start()
    noted = (embedded.data / "endpoint.json").read_text()
    embedded.stop()

    (embedded.data / "endpoint.json").write_text(noted)

    assert embedded.running() is None


def test_a_file_left_from_before_a_reboot_is_not_believed(embedded: Embedded) -> None:
    me = myself()
    noted = {"url": "http://127.0.0.1:1", "pid": me.pid, "pid_start": me.pid_start}
    embedded.data.mkdir()

    (embedded.data / "endpoint.json").write_text(json.dumps(noted | {"boot_id": "before"}))

    assert embedded.running() is None


def test_a_port_that_is_taken_is_refused_by_its_number(embedded: Embedded) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(Refused) as refused:
            embedded.start(port)

    assert f"port {port} is taken" in refused.value.message
    assert "--port" in refused.value.hint


def test_another_port_for_a_running_one_is_refused(embedded: Embedded) -> None:
    running = embedded.start()

    with pytest.raises(Refused, match=running.url):
        embedded.start(int(running.url.rpartition(":")[2]) - 1)


def test_one_that_cannot_start_says_why_from_its_log(embedded: Embedded) -> None:
    embedded.data.mkdir()
    (embedded.data / "settings.json").write_text('{"no such setting": 1}')

    with pytest.raises(Unreachable) as failed:
        embedded.start()

    assert "ended with code 64" in failed.value.message
    assert "no such setting" in failed.value.message
    assert failed.value.place == str(embedded.log)


def test_a_reset_empties_a_running_one_and_a_stopped_one(embedded: Embedded) -> None:
    running = embedded.start()

    embedded.reset()
    still = embedded.running()
    embedded.stop()
    embedded.reset()

    assert still == running
    assert not embedded.data.exists()


def test_the_commands_print_their_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(TOP))
    printed = []

    for words in (["start"], ["reset", "-y"], ["status"], ["stop"]):
        assert run(["emulator", *words, "-o", "json"]) == 0
        printed.append(Emulator.model_validate_json(capsys.readouterr().out))

    assert [one.state for one in printed] == ["running", "running", "running", "stopped"]
    assert len({(one.url, one.pid) for one in printed}) == 2


def test_a_target_with_emulator_true_starts_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TOP))
    (tmp_path / "f.yaml").write_text(
        "meshctl: 1\nfleet: f\n"
        "targets: {local: {kind: cloudrun, project: local, region: local1, emulator: true}}\n"
    )
    world = open_world(Settings(fleet=str(tmp_path / "f.yaml")))
    embedded = world.embedded()

    cloud = world.cloud("local")
    running = embedded.running()
    embedded.stop()

    assert embedded.data == tmp_path / ".meshctl" / "emulator"
    assert running is not None
    assert cloud.endpoint == running.url
