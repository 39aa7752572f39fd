"""One switch, step by step: what is held, what is kept, and what everybody is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meshctl.mesh.switch.events import (
    Answer,
    Asked,
    Check,
    Checked,
    Denied,
    Drain,
    Effect,
    Grant,
    Held,
    Left,
    Order,
    Pause,
    Refuse,
    Remembered,
    Remove,
    Reply,
    Save,
    Saved,
    StopCheck,
    Tick,
    Wake,
)
from meshctl.mesh.switch.machine import MOST_REMEMBERED, Switch
from meshctl.spec.switch import Backend, Drained, Outcome, SwitchOrder, SwitchState

A = Backend(name="a", url="http://127.0.0.1:1", models=("m",))
B = Backend(name="b", url="http://127.0.0.1:2", models=("m", "n"))


def switch(*, most_held: int = 9, active: Backend = A) -> Switch:
    return Switch(Remembered(active.name, (A, B), ()), most_held)


def order(caller: int, at: float = 0.0, **more: Any) -> Order:
    waits = {"hold_at_most": 10.0, "drain_at_most": 10.0}
    return Order(at, caller, SwitchOrder(**({"operation": "o", "to": "b"} | waits | more)))


def answer(effects: Sequence[Effect], caller: int = 1) -> Answer:
    (found,) = [e.answer for e in effects if isinstance(e, Reply) and e.caller == caller]
    return found


def outcome(effects: Sequence[Effect], caller: int = 1) -> Outcome:
    found = answer(effects, caller)
    assert isinstance(found, Outcome)
    return found


def state(found: Answer) -> SwitchState:
    assert isinstance(found, SwitchState)
    return found


def saving(subject: Switch) -> Save:
    """Ordered and checked; the choice is on its way to the disk, and requests are held."""
    assert subject.on(order(1)) == [Check("o", B, 30.0)]
    save, wake = subject.on(Checked(1.0, "o", True))
    assert isinstance(save, Save) and wake == Wake(11.0)
    return save


def test_a_switch_holds_keeps_lets_go_and_waits_for_the_old_one() -> None:
    subject = switch()
    assert subject.on(Asked(0.0, 7, "m")) == [Grant(7, A)]
    kept = saving(subject).kept
    assert kept.active == "b"
    assert subject.on(Asked(1.1, 8, "m")) == [Held(8)]

    after = subject.on(Saved(1.5, "saved"))
    end = subject.on(Left(2.0, 7))

    assert after == [Grant(8, B), Wake(11.5)]
    told = outcome(end)
    assert (told.outcome, told.was, told.active, told.held) == ("switched", "a", "b", 1)
    steps = [(step.name, step.result, step.seconds) for step in told.steps]
    assert steps == [
        ("check", "done", 1.0),
        ("save", "done", 0.5),
        ("hold", "done", 0.5),
        ("drain", "done", 0.5),
    ]


def test_a_choice_that_cannot_be_kept_gives_everybody_back_to_the_old_one() -> None:
    subject = switch()
    saving(subject)
    subject.on(Asked(1.1, 8, "m"))

    effects = subject.on(Saved(1.5, "failed", "no space left"))

    assert effects[0] == Grant(8, A)
    told = outcome(effects)
    assert (told.outcome, told.active, told.held) == ("restored", "a", 1)
    assert told.why == "not kept: no space left"
    assert subject.on(Asked(2.0, 9, "m")) == [Grant(9, A)]


def test_a_choice_that_may_not_outlive_a_loss_of_power_is_unknown_and_serves() -> None:
    subject = switch()
    saving(subject)

    told = outcome(subject.on(Saved(1.5, "doubtful", "no sync")))

    assert (told.outcome, told.active) == ("unknown", "b")
    assert told.why == "a loss of power now might bring the old one back: no sync"


def test_a_slow_disk_holds_nobody_for_longer_than_was_allowed() -> None:
    subject = switch()
    saving(subject)
    subject.on(Asked(1.1, 8, "m"))

    late = subject.on(Tick(11.0))
    meanwhile = subject.on(Asked(12.0, 9, "m"))
    subject.on(Saved(13.0, "saved"))
    told = outcome(subject.on(Left(14.0, 9)))

    assert isinstance(late[0], Refuse) and late[0].fault.code == "held_too_long"
    assert meanwhile == [Grant(9, A)], "the old one goes on, and is waited for"
    assert (told.outcome, told.let_down, told.active) == ("switched", 1, "b")
    assert [s.why for s in told.steps if s.name == "hold"] == ["some were held for too long"]


def test_a_pause_that_runs_out_during_the_check_restores_the_old_one() -> None:
    subject = switch()
    subject.on(Pause(0.0, 9, 5.0))
    subject.on(order(1))
    subject.on(Asked(1.0, 8, "m"))

    effects = subject.on(Tick(5.0))

    assert isinstance(effects[0], Refuse) and effects[1] == StopCheck()
    assert outcome(effects).outcome == "restored"
    assert subject.on(Checked(6.0, "o", True)) == [], "an answer that nobody waits for"
    assert subject.on(Asked(7.0, 9, "m")) == [Grant(9, A)]


def test_a_refused_switch_leaves_a_pause_as_it_found_it() -> None:
    subject = switch()
    subject.on(Pause(0.0, 9, 60.0))
    subject.on(order(1, hold_at_most=30.0))

    told = outcome(subject.on(Checked(1.0, "o", False, "/health said 503")))

    assert (told.outcome, told.why) == ("refused", "b is not ready: /health said 503")
    assert subject.state(1.0).paused_for == 29.0, "and it lasts no longer than the switch allowed"
    assert subject.on(Asked(2.0, 8, "m")) == [Held(8)]


def test_a_model_that_the_new_one_has_not_is_refused_and_counted() -> None:
    subject = switch(active=B)
    subject.on(order(1, to="a", check=False))
    assert subject.on(Asked(0.1, 8, "n")) == [Held(8)]

    effects = subject.on(Saved(0.2, "saved"))

    assert isinstance(effects[0], Refuse) and effects[0].fault.code == "model_not_found"
    assert (outcome(effects).outcome, outcome(effects).let_down) == ("switched", 1)


def test_no_more_are_held_than_were_allowed() -> None:
    subject = switch(most_held=2)
    subject.on(Pause(0.0, 1, 60.0))

    effects = [subject.on(Asked(1.0, number, "m"))[0] for number in (7, 8, 9)]

    assert effects[:2] == [Held(7), Held(8)]
    assert isinstance(effects[2], Refuse) and effects[2].fault.code == "queue_full"


def test_a_switch_to_the_active_one_checks_it_and_ends_a_pause() -> None:
    subject = switch(active=B)
    subject.on(Pause(0.0, 9, 60.0))
    subject.on(Asked(0.5, 8, "m"))
    subject.on(order(1))
    subject.on(Checked(1.0, "o", True))

    effects = subject.on(Saved(1.5, "saved"))

    assert effects[0] == Grant(8, B)
    assert outcome(effects).outcome == "switched"
    assert outcome(effects).steps[-1].why == "nobody else served"


def test_one_that_still_answers_is_not_removed() -> None:
    subject = switch()
    subject.on(Asked(0.0, 7, "m"))
    saving(subject)
    subject.on(Saved(1.5, "saved"))
    subject.on(Tick(11.5))

    denied = answer(subject.on(Remove(12.0, 2, "a")), 2)
    subject.on(Left(13.0, 7))
    save, *_ = subject.on(Remove(14.0, 3, "a"))

    assert isinstance(denied, Denied) and denied.code == "in_use"
    assert isinstance(save, Save) and save.kept.backends == (B,)
    assert state(answer(subject.on(Saved(15.0, "saved")), 3)).backends[0].backend == B


def test_a_drain_says_how_many_are_left_when_its_time_is_over() -> None:
    subject = switch()
    subject.on(Asked(0.0, 7, "m"))
    waiting = subject.on(Drain(0.0, 1, None, 5.0))

    late = answer(subject.on(Tick(5.0)))
    subject.on(Left(6.0, 7))
    free = answer(subject.on(Drain(6.0, 2, "a", 5.0)), 2)

    assert waiting == [Wake(5.0)]
    assert late == Drained(backend="a", drained=False, in_flight=1)
    assert free == Drained(backend="a", drained=True, in_flight=0)


def test_old_operations_are_forgotten_in_the_end() -> None:
    subject = switch()
    for number in range(MOST_REMEMBERED + 1):
        subject.on(order(1, operation=f"o-{number}", check=False))
        subject.on(Saved(0.0, "saved"))

    assert subject.outcome("o-0") is None
    assert subject.outcome("o-1") is not None
