"""Every flag of the real llama-server is known, so that naming an unknown one means something."""

from __future__ import annotations

import re
import subprocess

from meshctl.engines.serving_llama import LLAMA_SERVING
from tests.contract.budget.engine import BIN

REMOVED = "the argument has been removed"
PRESET = re.compile(r"--(embd|fim|gpt-oss|vision)-.*-(default|spec)")
"""They fetch a model of their own: no flag for a payload."""


def flags_of_the_engine() -> set[str]:
    done = subprocess.run(
        [BIN / "llama-server", "--help"], capture_output=True, text=True, check=False,
        env={"LD_LIBRARY_PATH": str(BIN), "PATH": "/usr/bin:/bin"}, timeout=60,
    )  # fmt: skip
    heads = [line for line in done.stdout.splitlines() if re.match(r"--?\w", line)]
    spelled = [line[: line.find("  ", 30)] if "  " in line[30:] else line for line in heads]
    found = {flag for line in spelled if REMOVED not in line
             for flag in re.findall(r"(?<![\w-])--?[A-Za-z][\w.-]*", line)}  # fmt: skip
    return {flag for flag in found if not PRESET.fullmatch(flag)}


def known() -> set[str]:
    serving = LLAMA_SERVING
    names = {name for flag in serving.sets for name in flag.names}
    return names | set(serving.lightens) | set(serving.burdens) | serving.plain | serving.bare


def test_every_flag_of_the_engine_is_known() -> None:
    flags = flags_of_the_engine()

    assert len(flags) > 200
    removed = {"--draft", "--draft-n", "--draft-max", "--draft-min", "--draft-n-min",
               "--spec-ngram-size-n", "--spec-ngram-size-m", "--spec-ngram-min-hits"}  # fmt: skip
    assert flags - known() - removed == set()


def test_no_flag_is_made_up() -> None:
    assert known() - flags_of_the_engine() == set()


def test_no_flag_is_both_with_and_without_a_value() -> None:
    assert LLAMA_SERVING.plain & LLAMA_SERVING.bare == set()
