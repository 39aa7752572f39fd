"""The console entry, as a real process where that is the point and in this process where not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from meshctl.cli import main as entry
from meshctl.cli.table import COMMANDS, Command
from meshctl.outside.pipes import hung_up

HEAVY = {
    "pydantic", "yaml", "rich", "requests", "urllib3", "google", "boto3", "botocore",
    "huggingface_hub", "asyncssh", "aiohttp", "asyncio", "meshctl.spec", "meshctl.ui",
    "meshctl.emulator", "meshctl.mesh",
}  # fmt: skip
TOP = Path(__file__).parents[3]


def meshctl(*words: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "meshctl", *words],
        cwd=cwd, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
        env={"PYTHONPATH": str(TOP), "PATH": "/usr/bin:/bin", **environ},
    )  # fmt: skip


@pytest.mark.parametrize("words", [["--help"], ["--version"], []])
def test_help_and_version_load_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from meshctl.cli.main import run; code = run(sys.argv[1:]); "
        "print(*sorted(sys.modules), sep='\\n', file=sys.stderr); sys.exit(code)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path, env={"PYTHONPATH": str(TOP)}, text=True, capture_output=True, timeout=60,
    )  # fmt: skip

    loaded = set(done.stderr.split())
    assert done.returncode == 0
    assert "meshctl.cli.table" in loaded
    assert loaded & HEAVY == set()


def test_the_help_fits_80_columns_and_names_every_command(tmp_path: Path) -> None:
    done = meshctl("--help", cwd=tmp_path, COLUMNS="200")

    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert all(f"\n  {command.name} " in done.stdout for command in COMMANDS)
    assert "-o, --output FORMAT" in done.stdout


def test_the_process_ends_with_the_code_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("meshctl: 2\n")

    missing = meshctl("validate", cwd=tmp_path)
    version = meshctl("--version", cwd=tmp_path)
    bad = meshctl("validate", "-f", "bad.yaml", cwd=tmp_path)

    assert (missing.returncode, version.returncode, bad.returncode) == (64, 0, 64)
    assert "meshctl.yaml  there is no fleet file" in missing.stdout
    assert bad.stdout.startswith("bad.yaml:1:")


def test_a_usage_error_is_one_json_object_on_stdout(tmp_path: Path) -> None:
    done = meshctl("emulator", "start", "--prt", "5", "-o", "json", cwd=tmp_path)

    assert done.returncode == 64
    assert json.loads(done.stdout) == {
        "kind": "error/v1",
        "class": "UsageError",
        "message": "`meshctl emulator start` has no option --prt",
        "hint": 'did you mean "--port"?; see `meshctl emulator start --help`',
        "place": "",
        "exit_code": 64,
    }


def test_without_a_terminal_nothing_is_asked_and_yes_is_named(tmp_path: Path) -> None:
    done = meshctl("emulator", "reset", cwd=tmp_path)

    assert done.returncode == 64
    assert "--yes" in done.stderr
    assert done.stdout == ""


def test_a_reader_that_hangs_up_is_no_error(tmp_path: Path) -> None:
    line = f"{sys.executable} -m meshctl config schema | head -c 10 >&2; echo ${{PIPESTATUS[0]}}"

    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path, env={"PYTHONPATH": str(TOP), "PATH": "/usr/bin:/bin"},
        text=True, capture_output=True, timeout=60,
    )  # fmt: skip

    assert done.stdout == "0\n"
    assert len(done.stderr) == 10


def test_an_unknown_command_is_answered_with_near_names(capsys: pytest.CaptureFixture[str]) -> None:
    code = entry.run(["emulatr", "start"])

    said = capsys.readouterr().err
    assert code == 64
    assert "`meshctl` has no command 'emulatr'" in said
    assert 'did you mean "emulator"?' in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "json"], "`meshctl` needs a command"),
        (["-o", "json", "config"], "`meshctl config` needs a command"),
        (["nonsense", "--output=json"], "`meshctl` has no command 'nonsense'"),
        (["validate", "extra", "-o", "json"], "unexpected extra argument"),
        (["emulator", "start", "--port", "0", "-ojson"], "--port"),
        (["emulator", "start", "-o", "json", "--port"], "requires an argument"),
        (["-o", "json", "validate", "--timeout"], "--timeout needs a value"),
    ],
)
def test_every_usage_error_is_json_when_json_was_asked_for(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = entry.run(words)

    told = json.loads(capsys.readouterr().out)
    assert (code, told["kind"], told["exit_code"]) == (64, "error/v1", 64)
    assert message in told["message"]


def raise_a_bug() -> None:
    """Divide by zero."""
    print(1 // 0)


def press_control_c() -> None:
    """Behave as if Ctrl-C was pressed."""
    raise KeyboardInterrupt


def lose_a_pipe() -> None:
    """Write to somebody else who hung up."""
    raise BrokenPipeError(32, "Broken pipe")


def say_nine() -> int:
    """Return an exit code."""
    return 9


def made_up(function: Callable[..., object]) -> list[Command]:
    return [Command(name, f"{__name__}:{function.__name__}", "") for name in ("go", "other")]


def test_a_bug_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = entry.run(["go"], made_up(raise_a_bug))

    told = capsys.readouterr()
    assert (code, told.out) == (1, "")
    assert told.err.startswith("error: this is a bug in meshctl: ZeroDivisionError: integer")
    assert "Traceback" not in told.err


def test_the_traceback_of_a_bug_is_shown_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    entry.run(["go", "-v"], made_up(raise_a_bug))

    assert "in raise_a_bug" in capsys.readouterr().err


def test_control_c_is_130_and_json_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    code = entry.run(["-o", "json", "go"], made_up(press_control_c))

    told = json.loads(capsys.readouterr().out)
    assert (code, told["class"], told["exit_code"]) == (130, "Interrupted", 130)


def test_the_number_a_command_returns_is_the_exit_code() -> None:
    assert entry.run(["go"], made_up(say_nine)) == 9


def test_another_pipe_than_ours_that_breaks_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    code = entry.run(["go"], made_up(lose_a_pipe))

    assert code == 1
    assert "BrokenPipeError" in capsys.readouterr().err


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_stream_is_hung_up_once_its_reader_is_gone(size: int) -> None:
    reader, writer = os.pipe()
    with open(writer, "w") as stream:
        before = hung_up(stream)
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            print("x" * size, file=stream, flush=True)
        after = hung_up(stream)
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)

    assert (before, after) == (False, True)
