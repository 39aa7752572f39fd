"""Everything that can be given wrong: told with place and remedy, and nothing changed."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulator.bench import Bench, Result, call


def left_alone(bench: Bench) -> None:
    assert bench.service() is None
    assert bench.runs() == []


def told(result: Result, code: int, *words: str) -> None:
    """An error with this exit code, which says what, where, and what to do."""
    assert result.code == code, result.err
    assert "Traceback" not in result.err
    assert any(line.startswith("error: ") for line in result.err.split("\n")), result.err
    for word in words:
        assert word in " ".join(result.err.split()), result.err


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "not YAML": (lambda good: f"{good}services: [", "meshctl.yaml:"),
    "a list": (lambda good: "- a", "meshctl.yaml:1:1"),
    "empty": (lambda good: "", "meshctl.yaml"),
    "a wrong key": (lambda good: good.replace("services:", "servces:"), 'mean "services"?'),
    "a key twice": (lambda good: f"{good}fleet: again\n", "fleet"),
    "a bomb": (lambda good: "a: &a [x, x]\nb: &b [*a, *a]\n" * 3, "meshctl.yaml"),
    "a NUL": (lambda good: "meshctl: \0", "meshctl.yaml"),
    "no such image": (lambda good: good.replace('"small"', '"smal"', 1), 'mean "small"?'),
    "out of range": (lambda good: good.replace('"confirm": 1', '"confirm": 99'), "50"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_fleet_file_is_told_with_its_place(bench: Bench, kind: str) -> None:
    broken, word = BROKEN[kind]
    bench.file.write_text(broken(bench.file.read_text()))

    for verb in ("plan", "deploy", "status", "validate"):
        result = bench.meshctl(verb)
        assert result.code == 64, result.err
        assert word in result.err + result.out
        assert "Traceback" not in result.err
    left_alone(bench)


def test_a_variable_that_is_not_set_is_an_error_and_one_that_is_is_read(bench: Bench) -> None:
    bench.env(KEY="${SECRET_OF_MINE}")

    told(bench.meshctl("plan"), 64, "SECRET_OF_MINE", "meshctl.yaml:")
    assert bench.meshctl("plan", SECRET_OF_MINE="x").code == 0


@pytest.mark.parametrize(
    ("words", "code", "near"),
    [
        (["deploy", "chatt", "-y"], 64, 'did you mean "chat"?'),
        (["build", "smal"], 64, 'did you mean "small"?'),
        (["explain", "s0.local.x"], 64, "no run or service"),
        (["verify", "chatt"], 64, 'did you mean "chat"?'),
        (["rollback", "chatt", "-y"], 64, 'did you mean "chat"?'),
        (["lock", "acquire", "chatt", "-m", "x"], 64, 'did you mean "chat"?'),
        (["depoly"], 64, 'did you mean "deploy"'),
        (["lock", "aquire"], 64, 'did you mean "acquire"?'),
        (["deploy", "--take-trafic"], 64, "--take-traffic"),
        (["deploy", "--fleat", "x"], 64, "--fleet"),
        (["canary"], 64, "SERVICE"),
        (["verify", "chat", "--tag"], 64, "--tag"),
        (["-o", "jsn", "status"], 64, 'did you mean "json"?'),
        (["--timeout", "soon", "status"], 64, "30s"),
        (["--lock-wait", "-1s", "deploy", "-y"], 64, "--lock-wait"),
        (["--timeout"], 64, "needs a value"),
        (["verify", "chat", "--tag", "a", "--release", "b"], 64, "give one"),
        (["lock", "acquire", "chat"], 64, "--message"),
        (["emulator", "start", "--port", "0"], 64, "--port"),
        (["emulator", "start", "--port", "x"], 64, "--port"),
        (["--timeout", "0s", "deploy", "-y"], 64, "no time at all"),
        (["cutover", "chat", "-y", "--release", ""], 64, "is empty"),
        (["rollback", "chat", "-y", "--to", ""], 64, "is empty"),
        (["canary", "chat", "-y", "--tag", "V2"], 64, "lowercase letters"),
        (["canary", "chat", "-y", "--tag", "a" * 40], 64, "at most 37 characters"),
        (["canary", "chat", "-y", "--tag", ""], 64, "lowercase letters"),
        (["lock", "acquire", "chat", "-m", " "], 64, "-m TEXT"),
        (["lock", "break", "chat", "-y", "--reason", " "], 64, "--reason TEXT"),
        (["verify", "chat"], 8, "meshctl deploy chat"),
        (["cutover", "chat", "-y"], 8, "meshctl deploy chat"),
        (["rollback", "chat", "-y"], 8, "meshctl deploy chat"),
    ],
)
def test_what_is_not_there_is_named_with_what_is_near(
    bench: Bench, words: list[str], code: int, near: str
) -> None:
    told(bench.meshctl(*words), code, near)
    left_alone(bench)


def test_an_embedded_cloud_that_does_not_answer_is_unreachable_and_never_empty(
    bench: Bench,
) -> None:
    deployed = bench.deploy("chat")
    alive, bench.url = bench.url, f"http://127.0.0.1:{free_port()}"
    bench.declare()

    status = bench.json("status", code=6)
    bench.url = alive
    for words in (("plan",), ("deploy", "-y"), ("verify", "chat")):
        told(bench.meshctl(*words), 6, "127.0.0.1")
    told(bench.meshctl("rollback", "chat", "-y"), 6, bench.name)
    told(bench.meshctl("build", "other"), 6)

    assert status["services"][0]["state"] == "UNKNOWN"
    assert bench.split() == {deployed["revision"]: 100}


def test_a_port_that_is_taken_is_refused(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        refused = bench.meshctl("emulator", "start", "--port", str(port))

    told(refused, 8, f"port {port} is taken", "--port")
    assert bench.json("emulator", "status")["state"] == "stopped"


@pytest.mark.parametrize(
    "words",
    [("deploy",), ("canary", "chat"), ("cutover", "chat"), ("rollback", "chat")],
)
def test_without_a_terminal_and_without_yes_nothing_is_begun(
    bench: Bench, words: tuple[str, ...]
) -> None:
    bench.deploy("chat")
    bench.env(COLOUR="blue")
    if words[0] != "deploy":
        bench.json("canary", "chat", "-y", "--tag", "v2")
    if words[0] == "rollback":
        bench.json("cutover", "chat", "-y")
    if words[0] == "canary":
        bench.env(COLOUR="green")
    before, runs = bench.service(), bench.runs()

    result = bench.meshctl(*words)

    assert result.code == 64
    assert "--yes" in result.err
    assert (bench.service(), bench.runs()) == (before, runs)
    assert bench.json("lock", "status")["locks"][0]["state"] == "free"


def test_a_no_on_the_terminal_ends_with_130_and_changes_nothing(bench: Bench) -> None:
    main, far = pty.openpty()
    words = bench._argv(("deploy", "chat"))
    with subprocess.Popen(words, stdin=far, stdout=far, stderr=far, cwd=bench.folder) as process:
        os.close(far)
        shown = read_until(main, b"[y/N]")
        os.write(main, b"n\n")
        shown += read_until(main, None)
    os.close(main)

    assert process.returncode == 130
    assert b"nothing was" in shown
    assert b"\x1b[" in shown
    left_alone(bench)


def test_into_a_pipe_go_neither_progress_nor_colours(bench: Bench) -> None:
    result = bench.meshctl("deploy", "chat", "-y")

    assert "\x1b" not in result.out + result.err
    assert "\r" not in result.out + result.err
    assert "…" in result.err
    assert bench.meshctl("-q", "deploy", "chat", "-y").err == ""


FAILING: dict[str, Callable[[Bench], list[str]]] = {
    "no such service": lambda bench: ["deploy", "chatt", "-y"],
    "no such command": lambda bench: ["depoly"],
    "no command": lambda bench: [],
    "no such option": lambda bench: ["status", "--frobnicate"],
    "no fleet file": lambda bench: ["-f", str(bench.folder / "gone.yaml"), "status"],
    "no yes": lambda bench: ["deploy"],
    "refused": lambda bench: ["canary", "chat", "-y"],
    "plan refused": lambda bench: ["plan", "unbuilt"],
    "bad timeout": lambda bench: ["--timeout", "soon", "status"],
    "no build": lambda bench: ["build", "smal"],
}


@pytest.mark.parametrize("kind", FAILING)
def test_json_is_exactly_one_object_on_stdout_whatever_happens(bench: Bench, kind: str) -> None:
    bench.declare("unbuilt", image="other")

    result = bench.meshctl("-o", "json", *FAILING[kind](bench))

    document = json.loads(result.out)
    if document["kind"] == "error/v1":
        assert document["exit_code"] == result.code
        assert set(document) == {"kind", "class", "message", "hint", "place", "exit_code"}
    assert result.code in (8, 64)


def test_a_service_that_is_named_twice_is_meant_once(bench: Bench) -> None:
    assert len(bench.json("status", "chat", "chat")["services"]) == 1


def test_a_missing_fleet_file_is_told_with_the_way_to_make_one(bench: Bench) -> None:
    bench.file.unlink()

    for verb in ("status", "plan", "deploy", "emulator start"):
        told(bench.meshctl(*verb.split()), 64, "there is no fleet file", "meshctl config example")
    assert not (bench.folder / ".meshctl/emulator").exists()


def test_a_state_that_is_a_file_is_unreachable_before_anything_is_changed(bench: Bench) -> None:
    (bench.folder / "wrong").write_text("")

    result = bench.meshctl("--state", str(bench.folder / "wrong"), "deploy", "chat", "-y")

    assert result.code in (6, 8), result.err
    assert "Traceback" not in result.err
    assert bench.service() is None


def test_a_full_disk_under_the_state_stops_before_anything_is_changed(bench: Bench) -> None:
    builds = bench.folder / ".meshctl/state/builds"
    full = bench.folder / "full"
    full.mkdir()
    for name in ("runs", "locks"):
        (full / name).symlink_to("/dev/full")
    (full / "builds").symlink_to(builds)

    result = bench.meshctl("--state", str(full), "deploy", "chat", "-y")

    told(result, 6, "state folder", "--state")
    assert bench.service() is None


@pytest.mark.parametrize("text", ["", '{"at": 1}', "\xff"])
def test_a_journal_event_that_nobody_can_read_is_named_and_stops_what_would_stand_on_it(
    bench: Bench, text: str
) -> None:
    deployed = bench.deploy("chat")
    bench.env(COLOUR="blue")
    last = sorted((bench.folder / ".meshctl/state/runs" / deployed["run"]).iterdir())[-1]
    last.write_bytes(text.encode("latin-1"))
    before = bench.service()

    refused, back = bench.meshctl("deploy", "-y"), bench.meshctl("rollback", "chat", "-y")
    status, checked = bench.json("status"), bench.meshctl("state", "check")

    told(refused, 8, f"run {deployed['run']} cannot be read", "meshctl state check")
    told(back, 8, "no earlier release")  # it goes by the labels, and this was the first
    chat = status["services"][0]
    assert (chat["state"], chat["pinned"]) == ("READY", None)
    assert any(f"run {deployed['run']} cannot be read" in note for note in chat["notes"])
    assert checked.code == 9
    assert f"{deployed['run']}/{last.name}" in "".join(checked.out.split())
    assert bench.service() == before


def test_a_drill_that_is_misspelt_is_a_usage_error(bench: Bench) -> None:
    told(bench.meshctl("deploy", "-y", MESHCTL_DRILL="during:3"), 64, "before:N")


def test_a_cloud_that_fails_for_a_moment_is_asked_again(bench: Bench) -> None:
    bench.deploy("chat")
    bench.env(COLOUR="blue")
    for fault in (
        {"do": "drop", "method": "PATCH", "path": bench.name},
        {"do": "status", "method": "PATCH", "path": bench.name, "status": 503},
        {
            "do": "status",
            "method": "PATCH",
            "path": bench.name,
            "status": 409,
            "error_status": "ABORTED",
        },
    ):
        call(bench.url, "POST", "/emulator/faults", fault)

    deployed = bench.deploy("chat")

    assert bench.split() == {deployed["revision"]: 100}
    assert len(bench.revisions()) == 2


def test_a_quota_answer_fails_the_deploy_and_the_old_release_serves(bench: Bench) -> None:
    first = bench.deploy("chat")
    bench.env(COLOUR="blue")
    denied = {"do": "status", "method": "PATCH", "path": bench.name, "status": 403, "times": 1}
    call(bench.url, "POST", "/emulator/faults", denied | {"error_status": "PERMISSION_DENIED"})

    failed = bench.deploy("chat", code=3)

    assert failed["restored"] is True
    assert bench.split() == {first["revision"]: 100}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def read_until(descriptor: int, word: bytes | None) -> bytes:
    """What the terminal shows until the word, or until the program has gone."""
    shown = b""
    while word is None or word not in shown:
        try:
            shown += os.read(descriptor, 4096)
        except OSError:  # the far side is closed
            assert word is None, shown
            break
    return shown


def test_the_fleet_file_may_be_named_from_anywhere(bench: Bench, tmp_path: Path) -> None:
    bench.deploy("chat")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = [*bench._argv(("-o", "json", "status"))]

    done = subprocess.run(words, capture_output=True, text=True, cwd=elsewhere)

    assert json.loads(done.stdout)["services"][0]["state"] == "READY"
    assert list(elsewhere.iterdir()) == []
