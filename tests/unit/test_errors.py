"""The tree of errors: every class has a meaning and an exit code, and no two say the same."""

from __future__ import annotations

import pytest

from meshctl.errors import MeshctlError, Problem, SpecError, tree

CODES = {
    "MeshctlError": 1, "UsageError": 64, "SpecError": 64, "Refused": 8, "LockHeld": 5,
    "Unreachable": 6, "CheckFailed": 9, "RolledBack": 3, "NeedsHuman": 4, "Unclear": 7,
    "Interrupted": 130,
}  # fmt: skip


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_a_class_carries_its_exit_code(name: str, code: int) -> None:
    found = next(error for error in tree() if error.__name__ == name)

    assert found.exit_code == code
    assert found.meaning


def test_classes_with_one_code_share_its_meaning() -> None:
    meanings: dict[int, set[str]] = {}
    for error in tree():
        meanings.setdefault(error.exit_code, set()).add(error.meaning)

    assert all(len(said) == 1 for said in meanings.values())
    assert tree()[0] is MeshctlError


def test_a_wrong_fleet_names_its_first_mistake_and_counts_the_others() -> None:
    problems = (
        Problem("f.yaml:1:2", "services.chat", "no image", "name one"),
        Problem("f.yaml:9:1", "", "twice"),
    )

    error = SpecError(problems)

    assert error.message == "services.chat: no image (and 1 more)"
    assert (error.hint, error.place) == ("name one", "f.yaml:1:2")
    assert error.problems == problems
