"""Every broken file of tests/cases/spec is refused with exactly the problems written there."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.errors import Problem, SpecError
from meshctl.spec.load import load

TESTS = Path(__file__).parents[2]
BASE = (TESTS / "fleets" / "cloud_and_host.yaml").read_text()
CASES = {
    f"{file.stem}: {case['name']}": case
    for file in sorted((TESTS / "cases" / "spec").glob("*.yaml"))
    for case in yaml.safe_load(file.read_text())
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_broken_fleet_is_refused_with_every_problem(case: Any) -> None:
    text = _text(case)

    with pytest.raises(SpecError) as refused:
        load(text, "f.yaml", case.get("environ", {}))

    problems = refused.value.problems
    assert len(problems) == len(case["expect"]), problems
    for problem, wanted in zip(problems, case["expect"], strict=True):
        assert _is(problem, wanted), (wanted, problem)


def test_the_base_of_the_cases_is_sound() -> None:
    fleet = load(BASE, "f.yaml", {})

    assert set(fleet.services) == {"chat", "box"}


def _text(case: Any) -> str:
    text: str = case.get("text", BASE)
    for old, new in case.get("change", {}).items():
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    return text


def _is(problem: Problem, wanted: Any) -> bool:
    return (
        wanted.get("place", problem.place) == problem.place
        and wanted.get("path", problem.path) == problem.path
        and wanted.get("message", "") in problem.message
        and wanted.get("hint", "") in problem.hint
        and wanted.get("not", "\n") not in problem.message + problem.hint
    )
