"""The command table against the functions it names."""

from __future__ import annotations

import importlib
import inspect

import pytest

from meshctl.cli.lazy import command
from meshctl.cli.settings import names
from meshctl.cli.table import COMMANDS, SECTIONS, Command, leaves

LEAVES = dict(leaves())


@pytest.mark.parametrize("path", LEAVES)
def test_every_command_that_is_listed_is_there(path: str) -> None:
    entry = LEAVES[path]

    module, _, name = entry.function.partition(":")
    function = getattr(importlib.import_module(module), name)

    assert callable(function)
    assert (inspect.getdoc(function) or "").split("\n\n")[0].endswith(".")


@pytest.mark.parametrize("path", LEAVES)
def test_no_command_takes_an_option_that_is_global(path: str) -> None:
    params = command(LEAVES[path]).params

    own = {name for param in params for name in param.opts}

    assert own & set(names()) == set()


def test_every_entry_is_in_a_section_of_the_help() -> None:
    assert {entry.section for entry in COMMANDS} <= set(SECTIONS)


def test_a_one_line_help_is_one_line_of_the_help() -> None:
    too_long = [path for path, entry in LEAVES.items() if len(entry.help) > 66]

    assert too_long == []
    assert all(isinstance(entry, Command) and entry.help.endswith(".") for entry in LEAVES.values())
