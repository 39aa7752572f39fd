"""How the demo tells a scene in 80 columns."""

from __future__ import annotations

import shlex

import pytest

from meshctl.cli.demo.scenes import SCENES
from meshctl.cli.demo.transcript import (
    ALL,
    MOST_LINES,
    TELLING,
    fold,
    outcome,
    prompt,
    shown,
    title,
)

DEPLOY = """\
chat on local: deploy r1 for the first time (create, no outage)
  steps
    01-stage  prove the image
run chat.local.1: deploy chat on local
01-stage  prove the image … done (0.0s)
02-place  create it … failed (0.1s): it exits
✗ deploy chat on local: failed; r0 serves again and was asked. Why: the
  container called exit(64)
  run       chat.local.1
  steps
    ✓ done     01-stage  prove the image
"""
ERROR = """\
error: traffic is pinned by a stranger
  at:   local/chat
  hint: find out who did it and why; --take-traffic carries on, and undo
        restores it
"""


def test_of_a_rollout_each_step_as_it_ended_and_the_whole_result_are_told() -> None:
    assert shown(DEPLOY.split("\n"), TELLING) == DEPLOY.split("\n")[4:8]


def test_an_error_is_told_with_its_place_and_its_whole_hint() -> None:
    assert shown(ERROR.split("\n"), TELLING) == ERROR.strip().split("\n")


def test_of_very_many_lines_the_last_ones_are_told_and_the_others_counted() -> None:
    lines = [f"line {number}" for number in range(MOST_LINES + 7)]

    told = shown(lines, ALL)

    assert told == ["(… 7 lines)", *lines[7:]]


def test_a_long_line_is_folded_and_one_with_a_long_id_is_left_whole() -> None:
    digest = f"  digest    sha256:{'a' * 64}"

    assert max(map(len, fold("  hint: " + "word " * 30))) <= 80
    assert fold(digest) == [digest]


def test_a_line_of_many_rows_is_cut_and_says_so() -> None:
    rows = fold("word " * 100)

    assert len(rows) == 3
    assert rows[-1].endswith(" …")


@pytest.mark.parametrize(
    "command", ["meshctl status", f"gcloud {'--flag value ' * 12}", """curl '{"a": "b c"}'"""]
)
def test_a_command_can_be_copied_from_behind_its_prompt(command: str) -> None:
    rows = prompt(command)

    copied = "\n".join(rows).removeprefix("$ ").replace("\\\n", " ")
    assert shlex.split(copied) == shlex.split(command)
    assert max(map(len, rows)) <= 80


def test_the_outcome_names_both_codes_only_when_they_differ() -> None:
    assert outcome(3, 3, 2.0) == "✓ exit code 3, as it should be (2s)"
    assert outcome(0, 3, 2.0) == "✗ exit code 0 instead of 3 (2s)"


def test_every_title_of_the_play_is_one_line_across_the_terminal() -> None:
    titles = [title(number, scene.name) for number, scene in enumerate(SCENES, start=1)]

    assert {len(line) for line in titles} == {80}
