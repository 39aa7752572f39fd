"""The generated pages, and the error tree they are made from."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import meshctl
from meshctl.cli.json_page import kinds
from meshctl.cli.reference import pages
from meshctl.errors import MeshctlError, tree
from meshctl.verify.checks import CHECKS

TOP = Path(__file__).parents[3]
OURS = [cls for cls in tree() if cls.__module__ == MeshctlError.__module__]


@pytest.mark.parametrize("path", pages())
def test_the_page_is_up_to_date(path: str) -> None:
    written = (TOP / path).read_text(encoding="utf-8")

    assert written == pages()[path], "run `make reference`"


@pytest.mark.parametrize("cls", OURS)
def test_every_error_class_says_what_its_exit_code_means(cls: type[MeshctlError]) -> None:
    row = f"| {cls.exit_code} | {cls.meaning} |"

    assert row in pages()["docs/exit-codes.md"]
    assert cls.__doc__ and cls.__doc__.endswith(".")


def test_every_error_class_anywhere_has_an_exit_code_of_the_table() -> None:
    for module in pkgutil.walk_packages(meshctl.__path__, "meshctl."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    strays = [cls for cls in tree() if cls.exit_code not in {ours.exit_code for ours in OURS}]

    assert strays == []


def test_every_check_of_every_battery_is_on_its_page_with_when_it_passes() -> None:
    page = pages()["docs/checks.md"]

    sections = {part.split("\n")[0]: part for part in page.split("\n### ")[1:]}
    assert set(sections) == set(CHECKS)
    assert [name for name, text in sections.items() if "Passes" not in text] == []
    assert "| `mesh` | none: it adds nothing yet |" in page
    assert "Pure." not in page


def test_every_kind_is_on_its_page_with_what_is_nested_in_it() -> None:
    page = pages()["docs/json.md"]

    assert [
        kind for kind in kinds() if f"## {kind.model_fields['kind'].default}\n" not in page
    ] == []
    assert "| `steps[].kind` | text |" in page
    assert "| `rollouts` | list of `rollout/v1` |" in page
    assert "| `changes[].from` | text or null |" in page
