"""`meshctl diagnose --log` names the first cause of any log, without a fleet file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from meshctl.cli.diagnose_page import diagnose_page
from meshctl.cli.main import run
from meshctl.engines.catalogue import CATALOGUE
from meshctl.ui.asked import Findings

TOP = Path(__file__).parents[3]
CASES = TOP / "tests" / "cases" / "findings"
KEYS = {"id", "cause", "phase", "engine", "severity", "line", "line_number", "evidence", "remedy"}


@pytest.fixture(autouse=True)
def no_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = run(["diagnose", *words, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert Findings.model_validate(document).data() == document
    return document


def test_a_known_log_gives_findings_with_the_agreed_keys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = str(CASES / "constraint-violation.log")

    document = asked(capsys, "--log", log)

    assert [one["id"] for one in document["findings"]] == [
        "dynamic-shape", "exit-zero-before-ready",
    ]  # fmt: skip
    assert set(document["findings"][0]) >= KEYS
    assert document["findings"][0]["engine"] == "vllm"
    assert (document["source"], document["last_lines"]) == (log, [])


def test_a_log_on_standard_input_that_nobody_knows_gives_its_last_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = io.TextIOWrapper(io.BytesIO(b"one\ntwo\ntwo\nKeyError: 'rope'\n"))
    monkeypatch.setattr("sys.stdin", log)

    document = asked(capsys, "--log", "-")

    assert document["findings"] == []
    assert document["last_lines"] == ["one", "two", "KeyError: 'rope'"]
    assert document["complaint"] == {"line": "KeyError: 'rope'", "line_number": 4}


def test_an_empty_log_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")

    code = run(["diagnose", "--log", "empty.log"])

    assert (code, capsys.readouterr().out) == (0, "? there is nothing in the log\n")


def test_people_see_cause_line_evidence_and_remedy_in_eighty_columns(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x.log").write_text(f"loading model 'x'\ninvalid split file name: {'m' * 200}\n")

    run(["diagnose", "--log", "x.log"])

    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "✗ split-name: phase load, llama-server, line 2"
    assert "  . line 1: loading model 'x'" in shown
    assert any(line.startswith("  hint: name the first shard") for line in shown)
    assert max(map(len, shown)) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "one of SERVICE and --log"),
        (["chat", "--log", "-"], "one of SERVICE and --log"),
        (["--log", "gone.log"], "the log cannot be read"),
        (["--log", "."], "the log cannot be read"),
        (["--log", "x.log", "--candidate"], "a log file is read whole"),
        (["--log", "x.log", "--since", "2h"], "a log file is read whole"),
    ],
)
def test_what_cannot_be_read_is_a_usage_error(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["diagnose", *words])

    assert code == 64
    assert said in capsys.readouterr().err


def test_the_page_lists_every_failure_of_the_catalogue_as_it_is() -> None:
    page = (TOP / "docs" / "diagnose.md").read_text(encoding="utf-8")

    rows = [line for line in page.splitlines() if line.startswith("| `")]

    assert sorted(row.split("`")[1] for row in rows) == sorted(one.id for one in CATALOGUE)
    assert page == diagnose_page(page.split("\n")[2]), "run `make reference`"
