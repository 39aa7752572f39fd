"""Whatever callers, clients and disks do, a switch keeps its law; the world complains at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.mesh.switch.events import (
    Add,
    Asked,
    Check,
    Checked,
    Denied,
    Drain,
    Effect,
    Event,
    Grant,
    Held,
    Left,
    Order,
    Pause,
    Refuse,
    Remembered,
    Remove,
    Reply,
    Resume,
    Save,
    Saved,
    SaveEnd,
    StopCheck,
    Tick,
    Wake,
)
from meshctl.mesh.switch.machine import Switch
from meshctl.spec.switch import Backend, Outcome, SwitchOrder

NAMES = ("a", "b", "c")
MOST_HELD = 4
Deed = tuple[str, int, float]
DEEDS = (
    *("ask", "ask", "leave", "order", "order", "again", "ready", "unready", "save", "save"),
    *("lose", "doubt", "add", "remove", "pause", "resume", "drain", "wait"),
)
WAITS_S = (0.0, 1.0, 30.0)

deeds: st.SearchStrategy[list[Deed]] = st.lists(
    st.tuples(
        st.sampled_from(DEEDS),
        st.integers(0, 11),
        st.sampled_from(WAITS_S),
    ),
    max_size=60,
)


def backend(name: str) -> Backend:
    """Every backend has a model of its own, and one that all have."""
    return Backend(name=name, url=f"http://{name}", models=("all", name))


class World:
    """Sends events to a switch and carries its effects out; `disk` is what a restart would find."""

    def __init__(self) -> None:
        self.disk = Remembered("a", (backend("a"), backend("b")), ())
        self.switch = Switch(self.disk, MOST_HELD)
        self.now = 0.0
        self.numbers = 0
        self.serving: dict[int, str] = {}
        self.held: dict[int, float] = {}
        self.refused: set[int] = set()
        self.orders: dict[int, SwitchOrder] = {}
        self.callers: set[int] = set()
        self.outcomes: dict[str, Outcome] = {}
        self.passed: set[str] = set()
        self.check: Check | None = None
        self.save: Save | None = None
        self.alarm: float | None = None
        self.effects: list[Effect] = []

    @property
    def active(self) -> str | None:
        return self.switch.active.name if self.switch.active else None

    def send(self, event: Event) -> None:
        effects = self.switch.on(event)
        self.effects += effects
        for effect in effects:
            self._do(effect)
        self._look()

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def caller(self) -> int:
        number = self.number()
        self.callers.add(number)
        return number

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while self.alarm is not None and self.alarm <= end:
            self.now, self.alarm = max(self.now, self.alarm), None
            self.send(Tick(self.now))
        self.now = end

    def _do(self, effect: Effect) -> None:
        match effect:
            case Grant(request, chosen):
                assert chosen.name == self.active, "only the active one is given requests"
                assert request not in self.serving, "nobody is given to two"
                self.held.pop(request, None)
                self.serving[request] = chosen.name
            case Held(request):
                self.held[request] = self.now
            case Refuse(request, _):
                self.held.pop(request, None)
                self.refused.add(request)
            case Check():
                assert self.check is None
                self.check = effect
            case StopCheck():
                self.check = None
            case Save():
                assert self.save is None, "one at a time"
                self._prove(effect.kept)
                self.save = effect
            case Reply(caller, answer):
                self.callers.remove(caller)
                if isinstance(answer, Outcome):
                    self._told(answer)
            case Wake(at):
                self.alarm = at

    def _prove(self, kept: Remembered) -> None:
        """A choice is kept only of what was ready, or was not to be asked."""
        if kept.active != self.disk.active:
            newest = kept.outcomes[-1].operation
            trusted = any(o.operation == newest and not o.check for o in self.orders.values())
            assert newest in self.passed or trusted, "never active without a passed check"

    def _told(self, outcome: Outcome) -> None:
        known = self.outcomes.setdefault(outcome.operation, outcome)
        assert known.outcome == outcome.outcome, "done once, however often it is ordered"
        assert outcome.active == self.active, "who serves now"
        if known is outcome and outcome.outcome == "switched":
            assert self.active == outcome.to == self.disk.active
        if known is outcome and outcome.outcome in ("refused", "restored"):
            assert self.active == outcome.was

    def _look(self) -> None:
        """What holds after every event."""
        state = self.switch.state(self.now)
        assert len(self.held) == state.held <= MOST_HELD
        assert state.paused_for is not None or not self.held, "held behind a gate, or not at all"
        counts = {standing.backend.name: standing.in_flight for standing in state.backends}
        for name in set(self.serving.values()):
            assert counts[name] == list(self.serving.values()).count(name)
        if self.save is None:
            assert state.active == self.disk.active, "who serves is who a restart would find"


def act(world: World, deed: str, pick: int, seconds: float) -> None:
    """Does one deed, if it can be done now."""
    name = NAMES[pick % 3]
    match deed:
        case "ask":
            world.send(Asked(world.now, world.number(), ("all", *NAMES)[pick % 4]))
        case "leave":
            present = [*world.serving, *world.held, *world.refused]
            if present:
                leave(world, present[pick % len(present)])
        case "order":
            order(world, f"o-{world.numbers}", name, seconds, check=pick > 2)
        case "again" if world.orders:
            old = [*world.orders.values()][pick % len(world.orders)]
            world.send(Order(world.now, world.caller(), old))
        case "ready" | "unready" if world.check:
            asked, world.check = world.check, None
            if deed == "ready":
                world.passed.add(asked.operation)
            world.send(Checked(world.now, asked.operation, deed == "ready", "why"))
        case "save" | "lose" | "doubt" if world.save:
            ends: dict[str, SaveEnd] = {"save": "saved", "lose": "failed", "doubt": "doubtful"}
            saved(world, ends[deed])
        case "add":
            world.send(Add(world.now, world.caller(), backend(name)))
        case "remove":
            world.send(Remove(world.now, world.caller(), name))
        case "pause":
            world.send(Pause(world.now, world.caller(), seconds))
        case "resume":
            world.send(Resume(world.now, world.caller()))
        case "drain":
            world.send(Drain(world.now, world.caller(), name, seconds))
        case "wait":
            world.pass_time(seconds)


def leave(world: World, request: int) -> None:
    world.serving.pop(request, None)
    world.held.pop(request, None)
    world.refused.discard(request)
    world.send(Left(world.now, request))


def order(world: World, operation: str, to: str, seconds: float, *, check: bool) -> None:
    caller = world.caller()
    world.orders[caller] = SwitchOrder(
        operation=operation, to=to, check=check, hold_at_most=seconds, drain_at_most=seconds
    )
    world.send(Order(world.now, caller, world.orders[caller]))


def saved(world: World, end: SaveEnd) -> None:
    assert world.save
    kept, world.save = world.save.kept, None
    if end != "failed":
        world.disk = kept
    world.send(Saved(world.now, end, "" if end == "saved" else "why"))


def play(script: list[Deed]) -> World:
    world = World()
    for deed, pick, seconds in script:
        act(world, deed, pick, seconds)
    return world


def settle(world: World) -> None:
    """The disk and the check answer, and time passes: everything that was begun ends."""
    for _ in range(3):
        act(world, "unready", 0, 0.0)
        act(world, "save", 0, 0.0)
        world.pass_time(max(WAITS_S))


@settings(max_examples=400)
@given(deeds)
def test_a_switch_keeps_its_law_and_everybody_is_answered(script: list[Deed]) -> None:
    world = play(script)

    settle(world)

    assert not world.held, "nobody is held for ever"
    assert not world.callers, "every caller hears how it ended"
    assert world.switch.state(world.now).operation is None


@given(deeds)
def test_equal_events_give_equal_effects(script: list[Deed]) -> None:
    assert play(script).effects == play(script).effects


@given(deeds)
def test_a_mesh_that_starts_again_serves_what_was_kept(script: list[Deed]) -> None:
    world = play(script)

    again = Switch(world.disk, MOST_HELD).state(0.0)

    assert again.active == world.disk.active
    if world.save is None:
        assert again.active == world.active
    assert again.active in {standing.backend.name for standing in again.backends}


@given(deeds)
def test_a_switch_that_worked_is_the_same_switch_after_a_restart(script: list[Deed]) -> None:
    world = play(script)
    settle(world)
    again = Switch(world.disk, MOST_HELD)
    done = [o for o in world.outcomes.values() if o.outcome == "switched"][-16:]

    for outcome in done:
        asked = SwitchOrder(operation=outcome.operation, to=outcome.to)
        (reply,) = again.on(Order(0.0, 1, asked))

        assert isinstance(reply, Reply) and isinstance(reply.answer, Outcome)
        assert (reply.answer.outcome, reply.answer.to) == ("switched", outcome.to)


def test_the_world_complains_when_a_choice_was_not_checked() -> None:
    world = World()
    order(world, "o", "b", 30.0, check=True)
    forged = world.check
    assert forged

    complained = False
    try:
        world.send(Checked(0.0, forged.operation, True))
    except AssertionError as complaint:
        complained = "never active without a passed check" in str(complaint)

    assert complained


def test_a_denial_changes_nothing() -> None:
    world = World()
    order(world, "o", "b", 30.0, check=True)
    before = world.switch.state(world.now)

    for deed in ("add", "remove", "pause", "order"):
        act(world, deed, 2, 30.0)

    denials = [e.answer for e in world.effects if isinstance(e, Reply)]
    assert [d.code for d in denials if isinstance(d, Denied)] == ["busy"] * 4
    assert world.switch.state(world.now) == before
