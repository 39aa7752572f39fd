"""The world of a lane without processes: engines and clients that do what a test says, and a
complaint at once when the lane does what it never may."""

from __future__ import annotations

from meshctl.mesh.events import (
    Asked,
    Effect,
    Ended,
    Event,
    Gone,
    Grant,
    Keep,
    Left,
    Loaded,
    RefuseDown,
    RefuseFull,
    Start,
    Stop,
    Tell,
    Tick,
    Unload,
    Wake,
    Wanted,
)
from meshctl.mesh.lane import Lane, Rules
from meshctl.mesh.seat import Member, sets_of
from meshctl.mesh.waiting import Stays, Waiting


class World:
    """Sends events to a lane, carries its effects out, and keeps all of them."""

    def __init__(self, *members: Member, rules: Rules | None = None) -> None:
        self.members = {member.model: member for member in members}
        self.rules = rules or Rules()
        self.lane = Lane(members, self.rules)
        self.sets = sets_of(members)
        self.now = 0.0
        self.alarm: float | None = None
        self.asked: dict[int, str] = {}
        self.told: dict[int, Waiting] = {}
        self.waiting: list[int] = []
        self.serving: list[int] = []
        self.granted: list[int] = []
        self.granted_at: dict[int, float] = {}
        self.refused: dict[int, RefuseDown | RefuseFull] = {}
        self.loading: list[str] = []
        self.ready: list[str] = []
        self.ending: list[str] = []
        self.kept: dict[str, Stays] = {}
        self.effects: list[Effect] = []

    @property
    def processes(self) -> list[str]:
        """Models of which a process may exist."""
        return [*self.loading, *self.ready, *self.ending]

    def ask(self, model: str) -> int:
        request = len(self.asked) + 1
        self.asked[request] = model
        self.waiting.append(request)
        self._send(Asked(self.now, request, model))
        assert len(self.waiting) <= self.rules.queue
        if request in self.waiting:
            assert request in self.told, "a request waits and knows nothing of it"
        return request

    def leave(self, request: int) -> None:
        for place in (self.waiting, self.serving):
            if request in place:
                place.remove(request)
        self._send(Left(self.now, request))

    def want(self, model: str) -> None:
        self._send(Wanted(self.now, model))

    def unload(self, model: str) -> None:
        self._send(Unload(self.now, model))

    def load(self, model: str) -> None:
        self.loading.remove(model)
        self.ready.append(model)
        self._send(Loaded(self.now, model))

    def end(self, model: str, why: str = "it crashed") -> None:
        """The engine ends by itself, or does not get ready; `vanish` comes after."""
        (self.loading if model in self.loading else self.ready).remove(model)
        self.ending.append(model)
        self._send(Ended(self.now, model, why))

    def vanish(self, model: str) -> None:
        self.ending.remove(model)
        self._send(Gone(self.now, model))

    def pass_time(self, seconds: float) -> None:
        """With every tick that the lane asks for meanwhile."""
        end = self.now + seconds
        while self.alarm is not None and self.alarm <= end:
            self.now, self.alarm = self.alarm, None
            self._send(Tick(self.now))
        self.now = end

    def settle(self) -> None:
        """Every load succeeds and every end comes to its end, until nothing moves."""
        while self.loading or self.ending:
            for name in tuple(self.ending):
                self.vanish(name)
            for name in tuple(self.loading):
                if name in self.loading:
                    self.load(name)

    def serve_all(self) -> None:
        """Answers whoever has a turn, until nobody waits; fails when somebody never gets one."""
        for _ in range(20 * len(self.asked) + 20):
            self.settle()
            for request in tuple(self.serving):
                self.leave(request)
            if not self.waiting and not self.serving:
                return
            if not self.serving and not self.loading and not self.ending:
                assert self.alarm is not None, f"nothing will ever happen for {self.waiting}"
                self.pass_time(self.alarm - self.now)
        raise AssertionError(f"requests {self.waiting} wait for ever")

    def _send(self, event: Event) -> None:
        for effect in self.lane.on(event):
            self.effects.append(effect)
            self._do(effect)
        self._check()

    def _do(self, effect: Effect) -> None:
        match effect:
            case Grant(request):
                assert self.asked[request] in self.ready, "a turn without an engine"
                self.waiting.remove(request)
                self.serving.append(request)
                self.granted.append(request)
                self.granted_at[request] = self.now
            case RefuseDown(request, _) | RefuseFull(request, _):
                self.waiting.remove(request)
                self.refused[request] = effect
            case Tell(request, waiting):
                assert request in self.waiting and self.told.get(request) != waiting
                self.told[request] = waiting
            case Start(model):
                assert model not in self.processes, "two engines of one model"
                self.loading.append(model)
            case Keep(model, why):
                self.kept[model] = why
                assert self._needs(model, why), f"{model} stays although nobody needs it"
            case Stop(model):
                assert not self.served_by(model), "a model was evicted while it serves"
                assert not self.members[model].pinned, "a pinned model was unloaded"
                (self.loading if model in self.loading else self.ready).remove(model)
                self.ending.append(model)
            case Wake(at):
                assert at > self.now, "the lane wants to be woken in the past"
                self.alarm = at

    def _needs(self, model: str, why: Stays) -> bool:
        needs: dict[Stays, bool] = {
            "serving": bool(self.served_by(model)),
            "waited_for": any(self.asked[request] == model for request in self.waiting),
            "pinned": self.members[model].pinned,
            "not_loaded": model not in self.processes,
        }
        return needs[why]

    def _check(self) -> None:
        # A model keeps its place for whom it serves, also while its engine comes back.
        placed = {*self.processes, *(self.asked[request] for request in self.serving)}
        assert any(placed <= allowed for allowed in self.sets), f"{placed} exceed their set"
        for model, member in self.members.items():
            assert len(self.served_by(model)) <= member.parallel

    def served_by(self, model: str) -> list[int]:
        return [request for request in self.serving if self.asked[request] == model]
