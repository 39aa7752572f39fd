"""`meshctl emulator fault`: orders reach the embedded cloud, and only that one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from meshctl.cli.main import run
from meshctl.outside.http import RealHttp, Request
from meshctl.ui.documents import Emulator, Error, Faults
from meshctl.ui.render import render

TOP = Path(__file__).parents[3]
L4 = "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(TOP))
    assert run(["emulator", "start", "-o", "json"]) == 0
    yield str(Emulator.model_validate_json(capsys.readouterr().out).url)
    assert run(["emulator", "stop", "-q"]) == 0


def fault(capsys: Capsys, *words: str) -> Faults:
    assert run(["emulator", "fault", *words, "-o", "json"]) == 0
    return Faults.model_validate_json(capsys.readouterr().out)


def refused(capsys: Capsys, *words: str, code: int = 64) -> Error:
    assert run(["emulator", "fault", *words, "-o", "json"]) == code
    return Error.model_validate_json(capsys.readouterr().out)


def test_an_order_strikes_is_listed_with_its_hits_and_is_cleared(url: str, capsys: Capsys) -> None:
    words = ("--path", "services", "--times", "3", "--code", "ABORTED")

    ordered = fault(capsys, "status", *words).faults[0]
    asked = f"{url}/v2/projects/p/locations/l/services"
    struck = RealHttp().send(Request(asked), timeout_s=5)
    listed = fault(capsys, "list").faults[0]
    cleared = fault(capsys, "clear")
    after = RealHttp().send(Request(asked), timeout_s=5)

    assert (ordered.fault, ordered.path, ordered.times, ordered.code) == (
        "status",
        "services",
        3,
        "ABORTED",
    )
    assert (struck.status, listed.seen, listed.hits) == (409, 1, 1)
    assert (cleared.faults, after.status) == ((), 200)


def test_every_way_to_order_is_passed_on(url: str, capsys: Capsys) -> None:
    words = ["latency", "--delay", "500ms", "--method", "patch", "--always", "--every", "3"]
    words += ["--after", "2", "--probability", "0.3", "--seed", "4"]

    ordered = fault(capsys, *words).faults[0]

    assert (ordered.seconds, ordered.method, ordered.times, ordered.path) == (
        0.5,
        "PATCH",
        None,
        None,
    )
    assert (ordered.every, ordered.after, ordered.probability, ordered.seed) == (3, 2, 0.3, 4)
    text = "\n".join(render(fault(capsys, "list")))
    assert "latency 0.5s  PATCH   any   after 2, every 3, 30%  0" in text


def test_quota_limits_are_set_and_set_back(url: str, capsys: Capsys) -> None:
    changed = fault(capsys, "quota", "--limit", f"{L4}=0")
    cleared = fault(capsys, "clear")

    assert changed.quota_limits == {L4: {"default": 0}}
    assert cleared.quota_limits == {}


def test_what_the_embedded_cloud_does_not_understand_is_a_usage_error(
    url: str, capsys: Capsys
) -> None:
    said = refused(capsys, "status", "--path", "(")

    assert "path is not a regular expression" in said.message


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["statsu"], "there is no fault 'statsu'", 'did you mean "status"?'),
        (["status", "--code", "UNAVAILABL"], "no code 'UNAVAILABL'", '"UNAVAILABLE"'),
        (["status", "--method", "PATH"], "no method 'PATH'", '"PATCH"'),
        (["drop", "--delay", "2s"], "--delay is no option of drop", "leave it out"),
        (["latency"], "latency needs --delay", "--delay 2s"),
        (["quota"], "quota needs --limit", "--limit QUOTA=N"),
        (["quota", "--limit", f"{L4}=many"], "'many' is no limit", f"{L4}=0"),
        (["quota", "--limit", "NvidiaL4Gpu=1"], "no quota 'NvidiaL4Gpu'", "NvidiaL4Gpu"),
        (["latency", "--delay", "2"], "is not a duration", "500ms"),
        (["status", "--times", "0"], "--times", "--help"),
        ([], "WHAT", ""),
    ],
)
def test_a_wrong_order_is_a_usage_error_that_names_what_is_near(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    words: list[str],
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    said = refused(capsys, *words)

    assert message in said.message
    assert hint in said.hint


def test_a_stopped_embedded_cloud_takes_no_faults_and_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)

    said = refused(capsys, "list", code=8)

    assert "meshctl emulator start" in said.hint
    assert not (tmp_path / ".meshctl").exists()
