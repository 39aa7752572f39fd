"""A secret gives itself away only to `reveal()`."""

from __future__ import annotations

import copy
import json
import pickle
import traceback
from collections.abc import Callable

import pytest

from meshctl.secret import Secret

HIDDEN = "hunter2"


@pytest.mark.parametrize(
    "show",
    [str, repr, "{}".format, "{:>20}".format, lambda s: f"{s!r}", lambda s: f"{s:s}",
     lambda s: str([s]), lambda s: str({s: s}), lambda s: str(ValueError(s))],
)  # fmt: skip
def test_no_way_of_printing_shows_it(show: Callable[[Secret], str]) -> None:
    assert HIDDEN not in show(Secret(HIDDEN))


def test_only_reveal_gives_it_back() -> None:
    assert Secret(HIDDEN).reveal() == HIDDEN


def test_it_leaves_the_process_in_no_form() -> None:
    for leave in (pickle.dumps, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError) as refused:
            leave(Secret(HIDDEN))
        assert HIDDEN not in "".join(traceback.format_exception(refused.value))


def test_equal_secrets_are_equal_and_nothing_else_is() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_it_has_no_dict_to_look_into() -> None:
    assert not hasattr(Secret("a"), "__dict__")
