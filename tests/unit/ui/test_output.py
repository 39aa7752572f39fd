"""stdout is data, stderr is talk, and nobody is asked without a terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from meshctl.errors import Interrupted, Refused, UsageError
from meshctl.ui.convert import plan_document
from meshctl.ui.documents import Emulator
from meshctl.ui.output import ERASE_LINE, Output
from tests.unit.ui.samples import PLAN, step

RUNNING = Emulator(url="http://127.0.0.1:21714", pid=4711, state="running")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class HungUp(io.StringIO):
    """A pipe whose reader is gone."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError


def output(stream: type[io.StringIO] = io.StringIO, answer: str = "", **settings: Any) -> Output:
    given: dict[str, Any] = {"format": "table", **settings}
    return Output(stdin=stream(answer), stdout=stream(), stderr=stream(), **given)


def texts(out: Output) -> tuple[str, str]:
    assert isinstance(out.stdout, io.StringIO) and isinstance(out.stderr, io.StringIO)
    return out.stdout.getvalue(), out.stderr.getvalue()


def test_a_result_goes_to_stdout_in_each_format() -> None:
    shown = {}
    for form in ("table", "json", "yaml", "name"):
        out = output(format=form)
        out.show(RUNNING)
        shown[form], talk = texts(out)
        assert talk == ""

    assert "running at http://127.0.0.1:21714" in shown["table"]
    assert json.loads(shown["json"]) == yaml.safe_load(shown["yaml"]) == RUNNING.data()
    assert shown["name"] == "http://127.0.0.1:21714\n"


def test_an_error_is_talk_and_with_json_also_one_object() -> None:
    error = Refused("no slot is free", hint="stop one", place="gcp")
    table, structured = output(), output(format="json")

    table.show_error(error)
    structured.show_error(error)

    assert texts(table) == ("", "error: no slot is free\n  at:   gcp\n  hint: stop one\n")
    assert json.loads(texts(structured)[0])["class"] == "Refused"


def test_quiet_silences_talk_but_neither_warnings_nor_errors() -> None:
    out = output(quiet=True)

    out.say("working")
    out.warn("traffic is pinned")
    out.show_error(Refused("no"))

    assert texts(out)[1] == "! warning: traffic is pinned\nerror: no\n"


def test_details_are_said_only_with_v() -> None:
    silent, verbose = output(), output(verbose=True)

    silent.detail("run services.get chat")
    verbose.detail("run services.get chat")

    assert texts(silent)[1] == ""
    assert texts(verbose)[1] == "  . run services.get chat\n"


def test_progress_is_silent_when_piped_and_replaced_on_a_terminal() -> None:
    piped, terminal = output(), output(Terminal, colour=False)

    for out in (piped, terminal):
        out.progress("asking the battery")
        out.say("03-check … pass")

    assert texts(piped)[1] == "03-check … pass\n"
    assert texts(terminal)[1] == "\r\x1b[2Kasking the battery …\r\x1b[2K03-check … pass\n"


def test_a_question_without_a_terminal_is_a_usage_error_that_names_yes() -> None:
    with pytest.raises(UsageError) as refused:
        output(answer="y\n").confirm("Deploy?")

    assert "--yes" in refused.value.hint


@pytest.mark.parametrize("answer", ["y\n", "yes\n", "Y\n"])
def test_yes_carries_on(answer: str) -> None:
    out = output(Terminal, answer, colour=False)

    out.confirm("Deploy?")

    assert texts(out) == ("", "Deploy? [y/N] ")


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "yep\n"])
def test_anything_but_yes_is_no(answer: str) -> None:
    with pytest.raises(Interrupted, match="nothing was changed"):
        output(Terminal, answer).confirm("Deploy?")


def test_yes_beforehand_asks_nothing() -> None:
    out = output(yes=True)

    out.confirm("Deploy?")

    assert texts(out) == ("", "")


def test_colour_is_only_for_a_terminal_that_wants_it() -> None:
    piped, terminal, plain = output(), output(Terminal), output(Terminal, colour=False)

    for out in (piped, terminal, plain):
        out.show(RUNNING)

    assert "\x1b[" not in texts(piped)[0] + texts(plain)[0]
    assert "\x1b[" in texts(terminal)[0]


def test_colour_changes_no_letter_of_the_text() -> None:
    import re

    from meshctl.ui.colour import painted

    text = "✓ pass  health [x] :smile:\n  hint: a b\n\n" + "https://a/" + "x" * 300

    assert re.sub(r"\x1b\[[0-9;]*m", "", painted(text)) == text


def test_a_reader_that_hung_up_breaks_nothing() -> None:
    out = output(HungUp)

    out.say("01-stage … done")
    out.show(RUNNING)
    out.warn("still here")

    assert texts(out) == ("", "")


def test_json_survives_a_terminal_that_knows_no_unicode() -> None:
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    out = Output(format="json", stdin=sys.stdin, stdout=narrow, stderr=io.StringIO())

    out.show_error(Refused("läuft ✓"))

    narrow.seek(0)
    assert json.loads(narrow.read())["message"] == "läuft ✓"


HOSTILE = "\x1b]0;owned\x07 \x1b[2J \r \x9b2J \u202e\tend"
"""A new title for the terminal, a cleared screen, C1 and a turned direction; tabs are harmless."""
SHOWN = r"\x1b]0;owned\x07 \x1b[2J \r \x9b2J \u202e" + "\tend"


def test_words_of_strangers_never_reach_a_terminal_as_commands() -> None:
    ways: dict[str, Callable[[Output], None]] = {
        "show_error": lambda out: out.show_error(Refused(HOSTILE, hint=HOSTILE, place=HOSTILE)),
        "say": lambda out: out.say(HOSTILE),
        "warn": lambda out: out.warn(HOSTILE),
        "detail": lambda out: out.detail(HOSTILE),
        "confirm": lambda out: out.confirm(HOSTILE),
    }

    for name, way in ways.items():
        out = output(Terminal, answer="y\n", verbose=True, colour=False)
        way(out)

        told = texts(out)[1]
        assert r"\x1b]0;owned\x07" in told and r"\x1b[2J" in told, name
        assert all(char.isprintable() or char in "\n\t" for char in told), name


def test_progress_erases_its_line_and_nothing_that_a_stranger_asks_for() -> None:
    out = output(Terminal, colour=False)

    out.progress(HOSTILE)

    assert texts(out)[1] == f"{ERASE_LINE}{SHOWN} …"


def test_a_step_with_escape_sequences_is_shown_with_colour_and_without_obeying_them() -> None:
    plan = PLAN.model_copy(update={"steps": (step(1, "shift", HOSTILE, ""),)})
    out = output(Terminal)

    out.show(plan_document([plan]))

    shown = texts(out)[0]
    assert "owned" in shown
    assert "\x1b]0;" not in shown and "\x07" not in shown and "\x1b[2J" not in shown


def test_json_keeps_the_value_and_spells_what_a_terminal_would_obey() -> None:
    out = output(format="json")

    out.show(Emulator(url=HOSTILE, pid=1, state="running"))

    told = texts(out)[0]
    assert json.loads(told)["url"] == HOSTILE
    assert all(char.isprintable() or char == "\n" for char in told)
