"""`meshctl bench report` and `compare` on recordings: numbers, looks and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshctl.bench.analyse import analyse
from meshctl.bench.compare import compare
from meshctl.bench.endpoint import find
from meshctl.bench.raw import write_raw
from meshctl.bench.run import Doors, bench
from meshctl.bench.workload import Workload
from meshctl.cli.main import run
from meshctl.ui.bench import bench_document, compare_document
from meshctl.ui.render import render
from meshctl.ui.render.bench_report import bench_page
from tests.fakes.rated_engine import RatedEngine

BUDGET = """
budgets:
  - payload: smol
    hardware: "*"
    decode_tokens_per_s: {A: 100, B: 60}
    first_token_s: {A: 0.2}
"""
LOOKS: dict[str, dict[str, Any]] = {
    "bench": {"jitter": 0.1, "acceptance": 0.7},
    "bench-invalid": {"cached": 16, "stops_at": 100},
}


def recorded(engine: RatedEngine, path: Path) -> str:
    session = bench(
        find(engine, "http://engine.test", None, None),
        Workload(),
        Doors(engine, engine, "seed"),
    )
    path.write_text(write_raw(session))
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["-o", "json", *words])
    return code, json.loads(capsys.readouterr().out)


def test_a_valid_recording_exits_0_and_holds_every_key_of_the_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recorded(RatedEngine(decode_per_s=80), tmp_path / "a.jsonl")

    code, found = told(capsys, "bench", "report", file)

    assert code == 0
    assert list(found) == [
        "kind", "valid", "invalid", "workload", "runs", "decode_tokens_per_s",
        "prefill_tokens_per_s", "headers_s", "first_byte_s", "first_event_s", "first_token_s",
        "inter_token_s", "acceptance", "cached_tokens", "grade", "provenance",
    ]  # fmt: skip
    assert found["decode_tokens_per_s"]["median"] == pytest.approx(80)
    assert set(found["decode_tokens_per_s"]) == {"median", "low", "high", "n"}


def test_an_invalid_recording_exits_9_with_its_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = recorded(RatedEngine(cached=16), tmp_path / "a.jsonl")

    code, found = told(capsys, "bench", "report", file)

    assert (code, found["valid"]) == (9, False)
    assert [flaw["id"] for flaw in found["invalid"]] == ["cached"]


@pytest.mark.parametrize(
    ("decode", "gate", "grade", "code"),
    [(120, "A", "A", 0), (80, "A", "B", 9), (80, "B", "B", 0), (30, "B", "F", 9)],
)
def test_a_gate_lets_through_what_reaches_its_grade(
    decode: int, gate: str, grade: str, code: int, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = recorded(RatedEngine(decode_per_s=decode), tmp_path / "a.jsonl")
    (tmp_path / "budget.yaml").write_text(BUDGET)
    words = ["--budget", str(tmp_path / "budget.yaml"), "--gate", gate]

    seen, found = told(capsys, "bench", "report", file, *words)

    assert (seen, found["grade"]) == (code, grade)


@pytest.mark.parametrize(
    "words",
    [
        ["--gate", "A"],
        ["--gate", "Z", "--budget", "budget.yaml"],
        ["--budget", "budget.yaml", "--payload", "another"],
        ["--budget", "absent.yaml"],
    ],
)
def test_a_gate_that_nothing_can_be_held_to_is_a_usage_error(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    file = recorded(RatedEngine(), tmp_path / "a.jsonl")
    (tmp_path / "budget.yaml").write_text(BUDGET)

    code, found = told(capsys, "bench", "report", file, *words)

    assert (code, found["kind"]) == (64, "error/v1")


def test_recordings_are_compared_as_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = recorded(RatedEngine(decode_per_s=88, wobble=0.004, seed=1), tmp_path / "a.jsonl")
    slow = recorded(RatedEngine(decode_per_s=80, wobble=0.004, seed=2), tmp_path / "b.jsonl")

    code, found = told(capsys, "bench", "compare", slow, fast)

    assert (code, found["result"], found["interleaved"]) == (0, "slower", False)
    assert found["low"] < found["difference"] < found["high"] < 0
    assert found["difference"] == pytest.approx(80 / 88 - 1, abs=0.02)


def test_what_is_invalid_is_compared_with_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = recorded(RatedEngine(), tmp_path / "a.jsonl")
    bad = recorded(RatedEngine(decode_per_s=20, cached=16), tmp_path / "b.jsonl")

    code, found = told(capsys, "bench", "compare", good, bad)

    assert (code, found["result"], found["valid"]) == (9, "none", False)
    assert found["invalid"][0]["why"].startswith("B: ")


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "chat", "--url", "http://127.0.0.1:1"],
        ["run", "--url", "http://127.0.0.1:1", "--tokens", "32,64"],
        ["run", "--url", "http://127.0.0.1:1", "--depths", "deep"],
        ["compare", "a.jsonl", "http://127.0.0.1:1"],
        ["report", "absent.jsonl"],
    ],
)
def test_what_cannot_be_done_is_a_usage_error_before_anybody_is_asked(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = told(capsys, "bench", *words)

    assert (code, found["kind"]) == (64, "error/v1")


def test_nobody_there_exits_6(capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = told(capsys, "bench", "run", "--url", "http://127.0.0.1:1")

    assert code == 6


@pytest.mark.parametrize("name", LOOKS)
def test_how_a_bench_looks(name: str, golden: Callable[[str, str], None]) -> None:
    engine = RatedEngine(**LOOKS[name])
    session = bench(
        find(engine, "http://engine.test", None, None),
        Workload(),
        Doors(engine, engine, "seed"),
    )
    document = bench_document(session, analyse(session))

    golden(f"ui/{name}", "\n".join(render(document)) + "\n")
    page = bench_page(document)
    assert "prefers-color-scheme: dark" in page
    assert "http" not in page.replace("http://engine.test", "")


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [("faster", 88.0, 80.0), ("none", 80.0, 80.0)],
)
def test_how_a_comparison_looks(
    name: str, a: float, b: float, golden: Callable[[str, str], None]
) -> None:
    one, other = (
        bench(find(e, "http://engine.test", None, None), Workload(), Doors(e, e, "seed"))
        for e in (
            RatedEngine(decode_per_s=a, wobble=0.004, seed=1),
            RatedEngine(decode_per_s=b, wobble=0.004, seed=2),
        )
    )

    document = compare_document(compare(one, other, interleaved=True))

    golden(f"ui/bench-compare-{name}", "\n".join(render(document)) + "\n")


def test_markup_in_what_an_engine_says_stays_text_in_the_page() -> None:
    engine = RatedEngine(finish="<script>alert(1)</script>")
    session = bench(
        find(engine, "http://engine.test", None, None),
        Workload(),
        Doors(engine, engine, "seed"),
    )

    page = bench_page(bench_document(session, analyse(session)))

    assert "<script" not in page
    assert "&lt;script" in page
