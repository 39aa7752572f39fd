"""How each document looks to people in 80 columns, without colour."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.errors import LockHeld
from meshctl.ui import documents as ui
from meshctl.ui.convert import plan_document, rollout_document, rollouts_document, verify_document
from meshctl.ui.render import render
from meshctl.ui.render.error import error_lines
from tests.unit.ui import samples

DOCUMENTS: dict[str, ui.Document] = {
    "plan": plan_document([samples.PLAN]),
    "plan-values": plan_document([samples.PLAN], show_values=True),
    "plan-several": plan_document([samples.UP_TO_DATE, samples.REFUSED]),
    "rollout-deployed": rollout_document(samples.DEPLOYED),
    "rollout-rolled-back": rollout_document(samples.ROLLED_BACK),
    "rollout-needs-human": rollout_document(samples.NEEDS_HUMAN),
    "rollout-nothing": rollout_document(samples.UP_TO_DATE_ALREADY),
    "rollout-canary": rollout_document(samples.CANARY),
    "rollout-rollback-stayed": rollout_document(samples.STAYED),
    "rollout-unclear": rollout_document(samples.UNCLEAR),
    "rollouts": rollouts_document([samples.DEPLOYED, samples.NEEDS_HUMAN]),
    "verify": verify_document(samples.VERDICT),
    "status": samples.STATUS,
    "history": samples.HISTORY,
    "adopt": samples.ADOPTED,
    "peers": samples.PEERS,
    "explain": samples.EXPLAIN,
    "lock": samples.LOCKS,
    "state": samples.STATE,
    "migration": samples.MIGRATION,
    "validate": samples.VALIDATE,
    "validate-well": ui.Validate(errors=()),
    "demo": samples.DEMO,
    "build": samples.BUILD,
    "cost": samples.COST,
    "gc": samples.GC,
    "plan-cost": plan_document([samples.DEARER]),
    "emulator": ui.Emulator(url="http://127.0.0.1:21714", pid=4711, state="running"),
    "emulator-stopped": ui.Emulator(url=None, pid=None, state="stopped"),
}
IDS = (samples.OLD, samples.NEW, samples.RUN, samples.URL, "sha256:" + "2" * 64)


@pytest.mark.parametrize("name", ["rollout-deployed", "rollout-rolled-back"])
def test_with_v_the_end_of_a_run_shows_every_step_and_every_check(
    name: str, golden: Callable[[str, str], None]
) -> None:
    text = "\n".join(render(DOCUMENTS[name], verbose=True)) + "\n"

    golden(f"ui/{name}-verbose", text)


def test_traffic_that_was_not_observed_is_unknown_and_never_guessed() -> None:
    seen = rollout_document(samples.STAYED.model_copy(update={"exit_code": 0}))
    not_seen = rollout_document(samples.STAYED.model_copy(update={"traffic": None}))
    gone = rollout_document(samples.STAYED.model_copy(update={"traffic": {}}))

    said = [line for one in (seen, not_seen, gone) for line in render(one) if " traffic " in line]
    assert said == [
        f"  traffic   chat-{samples.OLD} 95 %, chat-{samples.NEW} 5 %",
        "  traffic   unknown",
        "  traffic   none",
    ]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_look_is_the_golden_one(name: str, golden: Callable[[str, str], None]) -> None:
    text = "\n".join(render(DOCUMENTS[name])) + "\n"

    golden(f"ui/{name}", text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_only_a_command_to_copy_or_a_long_id_goes_beyond_80_columns(name: str) -> None:
    wide = [line for line in render(DOCUMENTS[name]) if len(line) > 80]

    assert [line for line in wide if "$ " not in line and max(map(len, line.split())) < 60] == []


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_id_is_ever_broken_whatever_the_width(width: int) -> None:
    whole = " ".join(" ".join(render(document, 80)) for document in DOCUMENTS.values())
    narrow = " ".join(" ".join(render(document, width)) for document in DOCUMENTS.values())

    assert [i for i in IDS if whole.count(i) != narrow.count(i)] == []


def test_env_values_are_hashes_unless_they_are_asked_for() -> None:
    hidden = "\n".join(render(DOCUMENTS["plan"]))
    shown = "\n".join(render(DOCUMENTS["plan-values"]))

    assert "debug" not in hidden and "env.MESH_LOG" in hidden
    assert "info -> debug" in shown


def test_an_error_says_what_where_and_what_to_type_next(
    golden: Callable[[str, str], None],
) -> None:
    error = LockHeld(
        "chat is locked by ada@desk (pid 7) since 2026-11-30T20:45:12.345678Z: deploy",
        hint="wait with --lock-wait 10m; `meshctl rollback` and `meshctl abort` take it over",
        place="lock chat",
    )

    golden("ui/error", "\n".join(error_lines(error, 80)) + "\n")


def test_a_first_release_comes_from_nowhere() -> None:
    first = samples.PLAN.model_copy(update={"from_release": None})

    shown = render(plan_document([first]), 80)[0]

    assert f"deploy {first.to_release} for the first time (" in shown


@pytest.mark.parametrize(
    ("message", "place", "said"),
    [
        ("gs://b/tiny.gguf does not exist", "gs://b/tiny.gguf", False),
        ("/srv/context is not a folder", "/srv/context", False),
        ("chat is frozen by ada@desk", "lock chat", True),
        ("chatter is locked", "chat", True),
    ],
)
def test_a_place_that_the_message_names_is_not_said_again(
    message: str, place: str, said: bool
) -> None:
    lines = error_lines(LockHeld(message, place=place), 80)

    assert (f"  at:   {place}" in lines) is said


def test_what_stands_beside_a_release_in_the_history_is_never_broken() -> None:
    run = "chat-peer-a.my-project-123:us-central1.20261201T033207017394.gujy"
    first = samples.HISTORY.releases[0].model_copy(update={"run": run, "who": "ada@desk (pid 7)"})
    shown = samples.HISTORY.model_copy(update={"releases": (first,)})

    lines = render(shown)

    assert f"          run {run}" in lines and "          by ada@desk (pid 7)" in lines
