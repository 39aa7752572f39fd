"""A target in memory that proves what must never happen, and the engines that answer on it.

It keeps its own simple idea of a service; only the words (Act, Split, ServiceSeen) are shared with
what it doubles. How a release behaves is scripted by its id:

    cloud = FakeTarget(clock)
    cloud.behave[release.id] = "wedged"
    http = FakeEngines(cloud)
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from meshctl.errors import MeshctlError, Refused, Unreachable
from meshctl.outside.http import Deadline, Line, Request, Response, Stream
from meshctl.plan.observed import LATEST, Revision, ServiceScaling, ServiceSeen, Share, TargetSeen
from meshctl.plan.release import Release, release_of
from meshctl.plan.standing import merged
from meshctl.plan.steps import (
    Act,
    CheckRelease,
    CreateService,
    PlaceRevision,
    Remember,
    RemoveService,
    RetireService,
    RetireTag,
    SetScaling,
    ShiftAccess,
    ShiftTraffic,
)
from meshctl.secret import Secret
from meshctl.targets.target import Address, Assure, Witness, nothing

Behaviour = Literal[
    "ok",
    "never-ready",  # its revision fails to start
    "wedged",  # lists models, decodes nothing
    "unclear",  # 503 for everything
    "flaky",  # the first answer of the battery is broken, the others are good
    "liar",  # says it is another release
    "wedged-in-traffic",  # good on its tag, wedged on the service's URL
    "unclear-in-traffic",  # good on its tag, 503 on the service's URL
]


@dataclass
class FakeService:
    """One service as the platform would remember it."""

    traffic: dict[str, int]
    revisions: list[Revision] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    public: bool = False
    min: int = 0
    etag: int = 1
    labels: dict[str, str] = field(default_factory=dict)
    stuck: dict[str, int] | None = None  # in force, whatever is asked for

    def latest_ready(self) -> str | None:
        return next((r.name for r in self.revisions if r.ready), None)

    def named(self) -> dict[str, int]:
        """The split with LATEST resolved."""
        shares: dict[str, int] = {}
        for name, percent in self.traffic.items():
            real = self.latest_ready() if name == LATEST else name
            if real and percent:
                shares[real] = shares.get(real, 0) + percent
        return shares


@dataclass
class Fault:
    """What goes wrong at one act: before it changes anything, or after it changed everything."""

    error: MeshctlError
    side: Literal["before", "after"] = "before"


class FakeTarget:
    """`changes` counts real changes, `performed` every act that was asked for."""

    def __init__(self, name: str = "local") -> None:
        self.name = name
        self.services: dict[str, FakeService] = {}
        self.behave: dict[str, Behaviour] = {}
        self.proved: set[str] = set()
        self.faults: dict[int, Fault] = {}
        self.performed: list[Act] = []
        self.changes = 0
        self.down = False
        self.whenever: Callable[[Act], None] = lambda _: None

    # What a stranger does.

    def move(self, service: str, **shares: int) -> None:
        """Traffic moved by hand."""
        self.services[service].traffic = dict(shares)
        self.services[service].etag += 1

    # What targets/target.py promises.

    def observe(self, services: Sequence[str], *, access: bool = True) -> TargetSeen:
        if self.down:
            return TargetSeen(name=self.name, services={}, unknown="no route to host")
        return TargetSeen(name=self.name, services={n: self.look(n) for n in services})

    def look(self, service: str) -> ServiceSeen | None:
        self._must_be_up()
        found = self.services.get(service)
        return _seen(service, found) if found else None

    def perform(self, service: str, act: Act, run: str, assure: Assure = nothing) -> dict[str, Any]:
        self._must_be_up()
        self.whenever(act)
        self.performed.append(act)
        fault = self.faults.get(len(self.performed))
        if fault and fault.side == "before":
            raise fault.error
        before = _state(self.services.get(service))
        self._act(service, act, assure)
        self._nothing_forbidden(service, before)
        if fault:
            raise fault.error
        found = self.services.get(service)
        return {"traffic": dict(found.traffic) if found else {}}

    def witness(self, service: str) -> Witness:
        return lambda: None

    def address(self, service: str, check: CheckRelease) -> Address:
        self._must_be_up()
        found = self._existing(service)
        host = service if check.where != "tag" else f"{check.tag}---{service}"
        closed = check.where == "service" or (check.where == "tag" and not found.public)
        return Address(f"http://{host}.fake", Secret(f"token-{service}") if closed else None)

    def _act(self, service: str, act: Act, assure: Assure) -> None:
        match act:
            case CreateService():
                self._create(service, act, assure)
            case PlaceRevision():
                self._place(self._existing(service), act, assure)
            case ShiftTraffic():
                self._shift(self._existing(service), act, assure)
            case SetScaling(to=to):
                self._set(service, assure, min=to.min)
            case ShiftAccess(public=public):
                self._set(service, assure, public=public)
            case RetireTag():
                self._untag(self._existing(service), act, assure)
            case Remember(labels=labels):
                found = self._existing(service)
                self._set(service, assure, labels=merged(found.labels, labels))
            case RetireService():
                self._remove(service, act, assure)
            case RemoveService(etag=etag):
                self._remove_as_seen(service, etag, assure)
            case _:
                raise AssertionError(f"{act.act} is not for a target")

    def _create(self, service: str, act: CreateService, assure: Assure) -> None:
        found = self.services.get(service)
        if found is None:
            assure()
            found = FakeService(traffic={act.revision: 100}, min=act.scaling.min)
            found.revisions.append(self._revision(act.release, act.revision))
            self.services[service] = found
        if not any(r.name == act.revision for r in found.revisions):
            raise Refused(f"{service} was created by somebody else meanwhile")
        _must_be_ready(found, act.revision)

    def _place(self, found: FakeService, act: PlaceRevision, assure: Assure) -> None:
        known = any(r.name == act.revision for r in found.revisions)
        named = found.named()
        if not known or found.traffic != named or found.tags.get(act.tag) != act.revision:
            assure()
            if not known:
                found.revisions.insert(0, self._revision(act.release, act.revision))
            found.traffic, found.etag = named, found.etag + 1
            found.tags[act.tag] = act.revision
        _must_be_ready(found, act.revision)

    def _shift(self, found: FakeService, act: ShiftTraffic, assure: Assure) -> None:
        to = _shares(act.to)
        if found.traffic == to:
            return
        known = [_resolve(found, _shares(split)) for split in (act.to, act.was, act.or_was)]
        if found.named() not in known:
            raise Refused("traffic was moved by somebody else meanwhile")
        assure()
        found.traffic, found.etag = to, found.etag + 1

    def _untag(self, found: FakeService, act: RetireTag, assure: Assure) -> None:
        if found.tags.get(act.tag) != act.revision:
            return
        assure()
        del found.tags[act.tag]
        if act.back_to:
            found.tags[act.tag] = act.back_to
        found.etag += 1

    def _set(self, service: str, assure: Assure, **wanted: Any) -> None:
        found = self._existing(service)
        if any(getattr(found, key) != value for key, value in wanted.items()):
            assure()
            found.etag += 1
            for key, value in wanted.items():
                setattr(found, key, value)

    def _remove(self, service: str, act: RetireService, assure: Assure) -> None:
        found = self.services.get(service)
        if found is None or all(r.name != act.revision for r in found.revisions):
            return
        if [r.name for r in found.revisions] != [act.revision]:
            raise Refused(f"{service} has revisions that this run did not make")
        assert not found.public, "a service that everybody may call is never removed"
        assure()
        del self.services[service]

    def _remove_as_seen(self, service: str, etag: str, assure: Assure) -> None:
        found = self.services.get(service)
        if found is None:
            return
        if str(found.etag) != etag:
            raise Refused(f"{service} was changed since it was looked at")
        assure()
        del self.services[service]

    def _revision(self, release: Release, name: str) -> Revision:
        env = tuple(sorted([*release.template.env, ("MESH_RELEASE", release.id)]))
        template = release.template.model_copy(update={"env": env})
        assert release_of(template).id == release.id, "the id is recomputed from what is there"
        ready = self.behaviour(release.id) != "never-ready"
        return Revision(
            name=name, release=release.id, template=template, ready=ready, failed=not ready,
            reason="" if ready else "the container failed to start",
        )  # fmt: skip

    def behaviour(self, release: str) -> Behaviour:
        return self.behave.get(release, "ok")

    def _existing(self, service: str) -> FakeService:
        if service not in self.services:
            raise Refused(f"{service} does not exist")
        return self.services[service]

    def _must_be_up(self) -> None:
        if self.down:
            raise Unreachable(f"{self.name} does not answer", place=self.name)

    def _nothing_forbidden(self, service: str, before: Any) -> None:
        found = self.services.get(service)
        self.changes += _state(found) != before
        if found is None:
            return
        assert sum(found.traffic.values()) == 100, found.traffic
        if before is None:
            return
        had = before[0]
        for name, percent in found.named().items():
            more = percent > had.get(name, 0)
            assert not more or name in self.proved, f"{name} got traffic without a passing verdict"


def _state(found: FakeService | None) -> Any:
    """Everything that a client or an operator could notice."""
    if found is None:
        return None
    names = tuple(r.name for r in found.revisions)
    return found.named(), dict(found.traffic), dict(found.tags), found.public, found.min, names


def _seen(name: str, found: FakeService) -> ServiceSeen:
    rows = [Share(revision=r, percent=p) for r, p in sorted(found.traffic.items())]
    in_force = found.traffic if found.stuck is None else found.stuck
    real = [Share(revision=r, percent=p) for r, p in sorted(in_force.items())]
    tags = [
        Share(revision=r, tag=tag, url=f"http://{tag}---{name}.fake")
        for tag, r in sorted(found.tags.items())
    ]
    ready = found.latest_ready()
    return ServiceSeen(
        name=name, url=f"http://{name}.fake", etag=str(found.etag), generation=found.etag,
        ready=True, reconciling=False, reason="", traffic=(*rows, *tags), effective=(*real, *tags),
        revisions=tuple(found.revisions), latest_ready=ready,
        latest_created=found.revisions[0].name if found.revisions else None,
        scaling=ServiceScaling(min=found.min), public=found.public, labels=found.labels,
    )  # fmt: skip


def _must_be_ready(found: FakeService, name: str) -> None:
    revision = next(r for r in found.revisions if r.name == name)
    if not revision.ready:
        raise Refused(f"revision {name} did not become ready: {revision.reason}")


def _shares(split: Sequence[Share]) -> dict[str, int]:
    return {row.revision: row.percent for row in split if row.percent}


def _resolve(found: FakeService, shares: dict[str, int]) -> dict[str, int]:
    return FakeService(traffic=shares, revisions=found.revisions).named()


class FakeEngines:
    """Answers as the release would that a URL leads to; of a split the newest takes its turn
    first. A closed door answers 403."""

    def __init__(self, cloud: FakeTarget) -> None:
        self.cloud = cloud
        self.asked: list[str] = []
        self._turn: dict[str, int] = {}
        self._broken: set[str] = set()

    def send(self, request: Request, *, timeout_s: float) -> Response:
        status, headers, release = self._front(request)
        if status != 200:
            return Response(status, headers, b"not now", 0.1)
        if request.method == "GET":
            return Response(200, headers, json.dumps({"data": [{"id": "m"}]}).encode(), 0.1)
        if self._wedged(request, release):
            raise Deadline(f"no whole answer within {timeout_s:g} s")
        if self.cloud.behaviour(release) == "flaky" and release not in self._broken:
            self._broken.add(release)
            return Response(500, headers, b"boom", 0.1)
        return Response(200, headers, json.dumps(_SAID).encode(), 0.1)

    @contextlib.contextmanager
    def stream(self, request: Request, *, timeout_s: float) -> Iterator[Stream]:
        status, headers, release = self._front(request)
        if self._wedged(request, release):
            raise Deadline(f"no whole answer within {timeout_s:g} s")
        yield Stream(status, headers, iter(_TOLD if status == 200 else ()))

    def _front(self, request: Request) -> tuple[int, dict[str, str], str]:
        host = (urlsplit(request.url).hostname or "").removesuffix(".fake")
        tag, _, service = host.rpartition("---")
        self.asked.append(host)
        found = self.cloud.services.get(service)
        if found is None:
            return 404, {}, ""
        if not found.public and request.headers.get("Authorization") != f"Bearer token-{service}":
            return 403, {}, ""
        release = next(r.release for r in found.revisions if r.name == self._leads_to(found, tag))
        said = "r-somebody-else" if self.cloud.behaviour(release) == "liar" else release
        return (503 if self._unclear(tag, release) else 200), {"x-mesh-release": said}, release

    def _leads_to(self, found: FakeService, tag: str) -> str:
        if tag:
            return found.tags[tag]
        shares = found.named()
        order = [r.name for r in found.revisions if shares.get(r.name)]
        turn = self._turn[tag] = self._turn.get(tag, -1) + 1
        place = turn % 100
        for name in order:
            if place < shares[name]:
                return name
            place -= shares[name]
        return order[-1]

    def _unclear(self, tag: str, release: str) -> bool:
        behaviour = self.cloud.behaviour(release)
        return behaviour == "unclear" or (behaviour == "unclear-in-traffic" and not tag)

    def _wedged(self, request: Request, release: str) -> bool:
        behaviour = self.cloud.behaviour(release)
        on_tag = "---" in (urlsplit(request.url).hostname or "")
        return behaviour == "wedged" or (behaviour == "wedged-in-traffic" and not on_tag)


_SAID = {
    "model": "m",
    "choices": [{"message": {"content": "1 2 3"}, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 8},
}
_TOLD = tuple(
    Line(text, 0.1)
    for text in (
        'data: {"choices": [{"delta": {"content": "1 "}}]}', "",
        'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}', "",
        "data: [DONE]", "",
    )
)  # fmt: skip
