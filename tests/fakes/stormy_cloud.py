"""Cloud Run's API in bad weather: any call may be struck, a stranger may come in between, and
whoever watches looks at the cloud itself after every call, whatever its answer was.

What a strike does is what facts/cloud-run.md knows of: section 1 (409 ABORTED, operations, a newest
revision that fails leaves traffic where it was), section 8 (429 and 5xx, lost answers).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from meshctl.outside.gcp import ApiError, Cloud, Conflict, LostAnswer, NotFound
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_run_api import LATEST, FakeRunApi

Json = dict[str, Any]
Stranger = Callable[["StormyCloud"], None]

BEFORE = ("aborted", "429", "500", "503", "cut")
"""Nothing was done."""
AFTER = ("lost", "endless")
"""It was done, and nobody hears of it."""
OF_REVISIONS = ("unready", "slow", "late")
"""What the write makes never gets ready, takes its time, or fails after a time."""
TAKES_S = (0.5, 8.0, 90.0, 900.0, 5000.0)
"""So long an endless operation's service is on its way; the last is longer than anybody waits."""


@dataclass
class Weather:
    """Who is struck by what. `told` is the schedule, for whoever has to look for a bug in it."""

    dice: random.Random
    chance: float = 0.0
    told: list[str] = field(default_factory=list)

    def strike(self, call: str, kinds: tuple[str, ...]) -> str | None:
        if self.dice.random() >= self.chance:
            return None
        kind = self.dice.choice(kinds)
        self.told.append(f"{call}: {kind}")
        return kind


@dataclass(frozen=True)
class Veil:
    """The service still shows the state it had before; what was asked is not in force yet."""

    until: float
    status: Json
    pending: str | None


@dataclass
class StormyCloud:
    """`calls` counts every call, `writes` those that would change something, `done` what did;
    `plagues` says before which call a stranger, a signal or the end of the process comes, and
    `ambushes` the same of writes: right between a reading and the write on top of it."""

    clock: FakeClock
    weather: Weather
    inner: FakeRunApi = field(default_factory=FakeRunApi)
    watch: Callable[[str], None] = lambda _: None
    plagues: dict[int, Stranger] = field(default_factory=dict)
    veils: dict[str, Veil] = field(default_factory=dict)
    ambushes: dict[int, Stranger] = field(default_factory=dict)
    calls: int = 0
    writes: int = 0
    done: list[str] = field(default_factory=list)
    strangers: int = 0
    known_strangers: int = 0
    by_hand: set[str] = field(default_factory=set)

    @property
    def cloud(self) -> Cloud:
        return self.inner.cloud

    # Reading.

    def get_service(self, name: str) -> Json | None:
        self._read("services.get")
        self.known_strangers = self.strangers
        return self.seen(name)

    def list_services(self) -> list[Json]:
        self._read("services.list")
        return [found for name in self.inner.services if (found := self.seen(name))]

    def list_revisions(self, service: str) -> list[Json]:
        self._read("revisions.list")
        veil = self._veil(service)
        rows = self.inner.list_revisions(service)
        for row in rows:
            if veil and row["name"].rpartition("/")[2] == veil.pending:
                row["conditions"] = [{"type": "Ready", "state": "CONDITION_RECONCILING"}]
        return rows

    def get_policy(self, name: str) -> Json:
        self._read("services.getIamPolicy")
        self._must_exist(name)
        return self.inner.get_policy(name)

    def _read(self, call: str) -> None:
        self._begin(call)
        self._meet(self.weather.strike(call, (*BEFORE, "latency")))

    # Writing.

    def create_service(self, name: str, body: Json) -> Json:
        self.veils.pop(name, None)
        make = lambda: self.inner.create_service(name, body)  # noqa: E731
        return self._write("services.create", name, make, body["template"]["revision"])

    def update_service(self, name: str, body: Json, mask: list[str]) -> Json:
        made = body["template"]["revision"] if "template" in mask else None
        change = lambda: self.inner.update_service(name, body, mask)  # noqa: E731
        return self._write(f"services.patch {','.join(mask)}", name, change, made)

    def delete_service(self, name: str, etag: str) -> None:
        self._write("services.delete", name, lambda: self.inner.delete_service(name, etag) or {})

    def delete_revision(self, service: str, revision: str) -> None:
        raise AssertionError("no act deletes a revision")

    def set_policy(self, name: str, policy: Json) -> Json:
        def put() -> Json:
            self._must_exist(name)
            return self.inner.set_policy(name, policy)

        return self._write("services.setIamPolicy", name, put)

    def _write(self, call: str, name: str, do: Callable[[], Json], made: str | None = None) -> Json:
        self.writes += 1
        self._begin(call, self.ambushes.pop(self.writes, None))
        kinds = (*BEFORE, *AFTER, "latency", *(OF_REVISIONS * 2 if made else ()))
        struck = self.weather.strike(call, kinds)
        self._meet(struck)
        before = self.status(name)
        if made and struck in ("unready", "late"):
            self.inner.broken.add(made)
        try:
            answer = do()
            self.done.append(f"{self.calls} {call}")
        except (Conflict, NotFound):
            raise
        except ApiError:  # its operation failed; what it wrote is there
            self.done.append(f"{self.calls} {call}")
            self._hide(name, before, struck, made)
            raise
        finally:
            self.watch(call)
        self._hide(name, before, struck, made)
        return answer

    # The weather.

    def _begin(self, call: str, ambush: Stranger | None = None) -> None:
        self.calls += 1
        plague = self.plagues.pop(self.calls, ambush)
        if plague is not None:
            plague(self)
            self.watch(f"what came before {call}")

    def _meet(self, struck: str | None) -> None:
        if struck == "latency":
            self.clock.advance(self.weather.dice.choice((0.3, 3.0, 25.0)))
        if struck == "aborted":
            raise Conflict("ABORTED", "Conflict for resource: version 'A' was specified, not 'B'")
        if struck == "429":
            raise LostAnswer("the cloud answered RESOURCE_EXHAUSTED", retry_after_s=2.0)
        if struck in ("500", "503"):
            raise LostAnswer("the cloud answered UNAVAILABLE")
        if struck == "cut":
            raise LostAnswer("no answer from the cloud: connection reset")

    def _hide(self, name: str, before: Json, struck: str | None, made: str | None) -> None:
        """What was written is on its way for a while, or the answer is lost, or both."""
        if struck == "lost":
            raise LostAnswer("no answer from the cloud: connection reset")
        if struck not in ("endless", "slow", "late"):
            return
        takes_s = self.weather.dice.choice(TAKES_S)
        if takes_s < 20 and struck != "endless":  # waited for, and the answer comes
            return self.clock.advance(takes_s)
        if name in self.inner.services:
            self.veils[name] = Veil(self.clock.monotonic() + takes_s, before, made)
        raise LostAnswer("its operation goes on after 20 s")

    # The cloud as it is, whatever anybody was told.

    def seen(self, name: str) -> Json | None:
        """The service as it shows itself now."""
        found = self.inner.get_service(name)
        return found | self.status(name) if found else None

    def status(self, name: str) -> Json:
        """What is in force: before a write has come about, that of the time before it."""
        veil = self._veil(name)
        if veil:
            return veil.status | {"reconciling": True}
        found = self.inner.services.get(name, {})
        empty: Json = {"trafficStatuses": [], "latestReadyRevision": "", "terminalCondition": {}}
        keys = (*empty, "observedGeneration")
        return {"observedGeneration": "0"} | empty | {k: found[k] for k in keys if k in found}

    def _veil(self, name: str) -> Veil | None:
        veil = self.veils.get(name)
        on_its_way = veil is not None and self.clock.monotonic() < veil.until
        return veil if on_its_way and name in self.inner.services else None

    def split(self, name: str) -> dict[str, int]:
        """Who gets how much of the requests now, LATEST by the name it stands for."""
        return self._shares(self.status(name), self.status(name)["trafficStatuses"])

    def asked(self, name: str) -> dict[str, int]:
        """The same as it was asked for, were it not in force yet."""
        found = self.inner.services.get(name, {})
        return self._shares(found, found.get("traffic", []))

    def _shares(self, status: Json, rows: list[Json]) -> dict[str, int]:
        latest = str(status.get("latestReadyRevision", "")).rpartition("/")[2]
        shares: dict[str, int] = {}
        for row in rows:
            revision = row.get("revision") or latest
            if row.get("percent") and revision:
                shares[revision] = shares.get(revision, 0) + row["percent"]
        return shares

    def tags(self, name: str) -> dict[str, str]:
        rows = self.status(name)["trafficStatuses"]
        return {row["tag"]: row["revision"] for row in rows if row.get("tag")}

    def is_public(self, name: str) -> bool:
        bindings = self.inner.policies.get(name, {}).get("bindings", [])
        return any("allUsers" in binding["members"] for binding in bindings)

    def variables(self, name: str, revision: str) -> dict[str, str]:
        """The plain environment of a revision."""
        rows = self.inner.revisions.get(name, [])
        row = next(r for r in rows if r["name"].rpartition("/")[2] == revision)
        variables = row["containers"][0]["env"]
        return {v["name"]: v["value"] for v in variables if "value" in v}

    def _must_exist(self, name: str) -> None:
        if name not in self.inner.services:
            raise NotFound("NOT_FOUND", f"Resource '{name}' was not found.")


# Strangers: each does one thing to the service `chat`, as somebody with the console would.


def moves(api: StormyCloud) -> None:
    """Traffic, to one ready revision, to two, or to LATEST."""
    ready = [name for name in _revisions(api) if _is_ready(api, name)]
    if not ready:
        return
    some = api.weather.dice.sample(ready, min(len(ready), api.weather.dice.choice((1, 1, 2))))
    rows: list[Json] = [{"revision": name, "percent": 100 // len(some)} for name in some]
    if api.weather.dice.random() < 0.3:
        rows = [{"type": LATEST, "percent": 100}]
    _by_hand(api, f"moves traffic to {rows}", [*rows, *_tag_rows(api)])
    api.by_hand |= set(api.asked("chat"))


def tags(api: StormyCloud) -> None:
    """Puts a tag on some revision, perhaps the one that was just placed."""
    if known := _revisions(api):
        name = api.weather.dice.choice(known)
        rows = api.inner.services["chat"]["traffic"]
        kept = [row for row in rows if row.get("tag") != "mine"]
        row = {"revision": name, "percent": 0, "tag": "mine"}
        _by_hand(api, f"tags {name}", [*kept, row])


def untags(api: StormyCloud) -> None:
    """Takes every tag away, ours too."""
    if _revisions(api):
        rows = [row for row in api.inner.services["chat"]["traffic"] if row.get("percent")]
        _by_hand(api, "takes all tags away", rows)


def revises(api: StormyCloud) -> None:
    """Makes a revision of their own, with our variables in it, as gcloud copies them."""
    if _revisions(api):
        name = f"chat-{api.calls:05d}-xyz"
        api.by_hand.add(name)
        api.inner.add_revision("chat", {**api.inner.revisions["chat"][0], "revision": name})
        _by_hand(api, f"makes revision {name}", api.inner.services["chat"]["traffic"])


def deletes(api: StormyCloud) -> None:
    """Removes the service."""
    api.strangers += 1
    api.weather.told.append("a stranger removes the service")
    api.inner.remove("chat")
    api.veils.clear()


def remakes(api: StormyCloud) -> None:
    """Removes the service, and makes another one of the same name, with our variables in it."""
    if known := api.inner.revisions.get("chat"):
        template = {**known[0], "revision": f"chat-{api.calls:05d}-new"}
        deletes(api)
        api.by_hand.add(template["revision"])
        api.inner.create_service("chat", {"template": template})
        api.weather.told.append("and makes it anew")


def breaks(api: StormyCloud) -> None:
    """The newest revision was ready, and is so no more."""
    if known := api.inner.revisions.get("chat"):
        api.strangers, api.known_strangers = api.strangers + 1, api.known_strangers + 1
        api.weather.told.append(f"{known[0]['name'].rpartition('/')[2]} breaks")
        known[0]["conditions"] = [{"type": "Ready", "state": "CONDITION_FAILED"}]


def _revisions(api: StormyCloud) -> list[str]:
    there = api.inner.revisions.get("chat", ()) if "chat" in api.inner.services else ()
    return [row["name"].rpartition("/")[2] for row in there]


def _is_ready(api: StormyCloud, revision: str) -> bool:
    row = next(r for r in api.inner.revisions["chat"] if r["name"].endswith(f"/{revision}"))
    return bool(row["conditions"][0]["state"] == "CONDITION_SUCCEEDED")


def _tag_rows(api: StormyCloud) -> list[Json]:
    rows = api.inner.services["chat"]["traffic"]
    return [row | {"percent": 0} for row in rows if row.get("tag")]


def _by_hand(api: StormyCloud, what: str, rows: list[Json]) -> None:
    api.strangers += 1
    api.weather.told.append(f"a stranger {what}")
    api.veils.clear()
    api.inner.move("chat", rows, "ada@example.com")


STRANGERS: tuple[Stranger, ...] = (moves, moves, tags, untags, revises, deletes, remakes)
