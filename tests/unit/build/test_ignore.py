"""What .gcloudignore leaves out of a context."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.build.ignore import rules
from meshctl.errors import UsageError


def ignored(**files: str) -> Callable[[str], bool]:
    """The rules of a folder that holds these files, named without the dot."""
    return rules({f".{name}": text for name, text in files.items()}.get)


def test_without_rules_only_git_itself_is_left_out() -> None:
    leaves_out = ignored()

    assert leaves_out(".git/") and leaves_out(".gitignore") and leaves_out(".gcloudignore")
    assert not leaves_out("app/main.py")


def test_gitignore_counts_when_there_is_no_gcloudignore() -> None:
    leaves_out = ignored(gitignore="*.log\n/out/\n")

    assert leaves_out("deep/a.log") and leaves_out("out/")
    assert not leaves_out("deep/out/")


def test_a_gcloudignore_stands_alone() -> None:
    leaves_out = ignored(gcloudignore="secret\n", gitignore="*.log\n")

    assert leaves_out("deep/secret")
    assert not leaves_out("a.log") and not leaves_out(".git/")


def test_later_rules_win_and_may_bring_back() -> None:
    leaves_out = ignored(gcloudignore="models/*\n!models/small\n")

    assert leaves_out("models/large")
    assert not leaves_out("models/small")


def test_include_puts_the_rules_of_another_file_in_its_place() -> None:
    leaves_out = ignored(gcloudignore="#!include:.gitignore\n!keep.log\n", gitignore="*.log\n")

    assert leaves_out("a.log")
    assert not leaves_out("keep.log")


@pytest.mark.parametrize("name", [".missing", "../.gitignore", ".gcloudignore"])
def test_an_include_that_cannot_be_followed_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="include"):
        ignored(gcloudignore=f"#!include:{name}\n")
