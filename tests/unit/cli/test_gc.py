"""What `gc` is told that does not fit together, before anything is looked at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meshctl.cli.main import run


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--services", "--tag", "x"], "give one of them"),
        (["--stale"], "add --services, or use --tag TAG"),
        (["--services", "--stale"], "say which: `meshctl gc NAME --services`"),
    ],
)
def test_options_that_say_nothing_together_are_refused(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["gc", *words, "-o", "json"])

    told: Any = json.loads(capsys.readouterr().out)
    assert (code, told["class"], told["hint"]) == (64, "UsageError", hint)


@pytest.mark.parametrize("window", ["soon", "10m", "90d"])
def test_a_window_that_monitoring_cannot_answer_is_refused(
    window: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meshctl.yaml").write_text(
        "meshctl: 1\nfleet: small\ntargets: {a: {kind: podman, address: h}}\n"
    )

    code = run(["gc", "--services", "--stale-after", window, "-o", "json"])

    assert code == 64
    assert "--stale-after" in json.loads(capsys.readouterr().out)["message"]
