"""A coordinator and its peers in memory: meshes that forward, and the verbs that join them."""

from __future__ import annotations

import functools
import itertools
import json
from dataclasses import replace
from typing import Any

from meshctl.outside.http import Request, Response
from meshctl.outside.interrupts import Interrupts
from meshctl.outside.objects import ObjectStore
from meshctl.outside.who import Who
from meshctl.plan.move import Move
from meshctl.plan.steps import Plan
from meshctl.rollout import peers, verbs
from meshctl.rollout.ground import Ground
from meshctl.rollout.outcome import Outcome
from meshctl.rollout.wish import Wish
from meshctl.spec.federation import VARIABLE, choose, parse_peers
from meshctl.spec.model import CloudRunTarget, Fleet
from meshctl.spec.registry import parse_models
from meshctl.state.ledger import Ledger, read_ledger
from meshctl.state.peers import announced
from meshctl.state.site import site_of
from tests import builders
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_target import FakeEngines, FakeService, FakeTarget
from tests.fakes.memory_store import MemoryStore

CHECKS = ["identity", "completion"]
CHAT: dict[str, Any] = {
    "role": "coordinator", "target": ["local"], "image": "mesh", "args": ["mesh"],
    "access": "public", "models": {"near": {}}, "checks": CHECKS,
    "rollout": {"steps": [50, 100], "confirm": 1},
}  # fmt: skip
PEER: dict[str, Any] = {
    "role": "peer", "like": "chat", "target": ["local"], "image": "mesh", "args": ["mesh"],
    "resources": {"cpu": 4, "memory": 16 * 2**30, "gpu": "nvidia-l4"},
    "models": {"far": {}}, "checks": CHECKS, "rollout": {"confirm": 1},
}  # fmt: skip


def fleet(chat: dict[str, Any] | None = None, **peers: dict[str, Any]) -> Fleet:
    """`chat` and `peer-a`, or the peers that are named (`peer_b` is peer-b), each changed so."""
    given = peers or {"peer_a": {}}
    services = {"chat": CHAT | (chat or {})}
    services |= {name.replace("_", "-"): PEER | changed for name, changed in given.items()}
    return Fleet.model_validate(
        {
            "meshctl": 1,
            "fleet": "test",
            "targets": {"local": {"kind": "cloudrun", "project": "local", "region": "local1"}},
            "images": {"mesh": {"ref": builders.IMAGE}},
            "services": services,
        }
    )


class Meshes(FakeEngines):
    """Each release answers for its own models, and asks its peers for the others."""

    def __init__(self, cloud: FakeTarget) -> None:
        super().__init__(cloud)
        self.closed: set[str] = set()
        self._last = ""

    def send(self, request: Request, *, timeout_s: float) -> Response:
        answer = super().send(request, timeout_s=timeout_s)
        if answer.status != 200:
            return answer
        env = next(
            revision.template.environment
            for service in self.cloud.services.values()
            for revision in service.revisions
            if revision.name == self._last
        )
        own = [entry.id for entry in parse_models(env["MESH_MODELS"])]
        if request.method == "GET":
            return _with(answer, {"data": [{"id": id} for id in own]})
        model = (request.body or {})["model"]
        if model in own:
            return _with(answer, json.loads(answer.body) | {"model": model})
        return self._forwarded(model, env.get(VARIABLE, ""), request, timeout_s)

    def _forwarded(self, model: str, text: str, request: Request, timeout_s: float) -> Response:
        peer = choose(model, parse_peers(text))
        if peer is None:
            return Response(404, {}, b"no such model", 0.1)
        if peer.id in self.closed:
            return Response(403, {"x-mesh-peer": peer.id}, b"", 0.1)
        name = peer.base_url.removeprefix("http://").removesuffix(".fake")
        url = f"{peer.base_url}/v1/chat/completions"
        there = replace(request, url=url, headers={"Authorization": f"Bearer token-{name}"})
        answer = self.send(there, timeout_s=timeout_s)
        return replace(answer, headers={**answer.headers, "x-mesh-peer": peer.id})

    def _leads_to(self, found: FakeService, tag: str) -> str:
        self._last = super()._leads_to(found, tag)
        return self._last


def _with(answer: Response, body: dict[str, Any]) -> Response:
    return replace(answer, body=json.dumps(body).encode())


class Federation:
    """The coordinator `chat` and its peers on one fake target; each verb is a new process."""

    def __init__(self, of: Fleet | None = None) -> None:
        self.fleet = of or fleet()
        self.memory = MemoryStore()
        self.store: ObjectStore = self.memory
        self.clock = FakeClock()
        self.target = FakeTarget()
        self.http = Meshes(self.target)
        self.proved = self.target.proved
        self._salts = itertools.count(1)

    def deploy(self, key: str = "chat") -> Outcome:
        return verbs.deploy(self.ground(key), self.wish, self.yes)

    def add(self, peer: str = "peer-a") -> Outcome:
        """What `meshctl peer add` does."""
        peers.refuse_early(self.coordinator(), peer)
        placed = peers.place(self.ground(peer), self.wish, self.yes)
        if placed.exit_code:
            return placed
        ground = self.ground(peer)
        seen = peers.prove(ground, functools.partial(self.move, ground))
        return peers.add(self.coordinator(), peer, seen)

    def remove(self, peer: str = "peer-a") -> Outcome:
        return peers.remove(self.coordinator(), peer)

    def sync(self, *declared: str) -> tuple[Outcome, tuple[str, ...]]:
        def look(peer: str) -> Any:
            seen = self.target.look(peer)
            main = seen.main if seen else None
            known = main and self.ledger(peer).verdict_of(main.name, main.release)
            return seen if known == "pass" else None

        return peers.sync(self.coordinator(), declared, look)

    @property
    def wish(self) -> Wish:
        return Wish(self.fleet, None)

    def yes(self, plan: Plan) -> None:
        """Whatever a plan places may have traffic: what was proved is for other tests."""
        self.proved |= {plan.revision or ""}

    def coordinator(self) -> peers.Coordinator:
        return peers.Coordinator(self.ground("chat"), self.wish, self.yes)

    def move(self, ground: Ground) -> Move:
        return Move(ground.key, ground.name, "local", ground.ledger(), battery=tuple(CHECKS))

    def ground(self, key: str) -> Ground:
        self.clock.advance(60)  # whoever died with a lock has lost it by now
        number = next(self._salts)
        return Ground(
            store=self.store, clock=self.clock, http=self.http,
            who=Who("ann", f"host{number}", "boot", 7, 7), target=self.target, place=self.place,
            key=key, name=key, interrupts=Interrupts(), stage=lambda _: {}, salt=f"s{number:03d}",
        )  # fmt: skip

    @property
    def place(self) -> CloudRunTarget:
        found = self.fleet.targets["local"]
        assert isinstance(found, CloudRunTarget)
        return found

    # What can be seen from outside.

    def ledger(self, key: str = "chat") -> Ledger:
        return read_ledger(self.memory, key, site_of(self.place))

    @property
    def recorded(self) -> list[str]:
        """Whom the journal calls announced."""
        return [entry.id for entry in announced(self.ledger()).entries or ()]

    @property
    def live(self) -> list[str]:
        """Whom the release of the coordinator that serves announces."""
        seen = self.target.look("chat")
        assert seen and seen.main
        text = seen.main.template.environment.get(VARIABLE, "")
        return [entry.id for entry in parse_peers(text)]

    @property
    def tags(self) -> dict[str, str]:
        return self.target.services["chat"].tags
