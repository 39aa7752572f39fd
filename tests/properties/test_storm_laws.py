"""The laws of the storm can be broken: a sabotaged target breaks them, and is caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from meshctl.errors import Unreachable
from meshctl.plan.observed import ServiceSeen, Split
from meshctl.plan.steps import Act, PlaceRevision, ShiftTraffic
from meshctl.rollout.ground import Ground
from meshctl.targets.cloudrun.target import CloudRunTarget
from tests.fakes.stormy_cloud import StormyCloud, moves
from tests.fakes.stormy_world import StormyWorld
from tests.properties.storm_laws import Broken
from tests.properties.test_storm import Storm


class Blind(CloudRunTarget):
    """Takes a lost answer for a good one, and believes to see what it wanted."""

    wanted: Split = ()

    def perform(self, service: str, act: Act, *rest: Any) -> dict[str, Any]:
        self.wanted = act.to if isinstance(act, ShiftTraffic) else self.wanted
        try:
            return super().perform(service, act, *rest)
        except Unreachable:
            return {}

    def look(self, service: str) -> ServiceSeen | None:
        seen = super().look(service)
        believed = {"traffic": self.wanted, "effective": self.wanted}
        return seen.model_copy(update=believed) if seen and self.wanted else seen


class Hasty(CloudRunTarget):
    """Gives a candidate traffic as soon as it is placed."""

    def perform(self, service: str, act: Act, *rest: Any) -> dict[str, Any]:
        told = super().perform(service, act, *rest)
        if isinstance(act, PlaceRevision):
            body = {"traffic": [{"revision": act.revision, "percent": 100}]}
            document = self.api.get_service(service) or {}
            self.api.update_service(service, {**body, "etag": document["etag"]}, ["traffic"])
        return told


class NoEtag(CloudRunTarget):
    """Writes over whatever is there."""

    def __init__(self, name: str, api: StormyCloud, *rest: Any, **more: Any) -> None:
        super().__init__(name, _Careless(api), *rest, **more)


class _Careless:
    """Somebody moves traffic before each of our writes, which says that it knows of that."""

    def __init__(self, api: StormyCloud) -> None:
        self.stormy = api

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stormy, name)

    def update_service(self, name: str, body: dict[str, Any], mask: list[str]) -> dict[str, Any]:
        moves(self.stormy)
        found = self.stormy.inner.services.get(name, {})
        return self.stormy.update_service(name, {**body, "etag": found.get("etag")}, mask)


class Sabotaged(StormyWorld):
    """A world in which the target is another one."""

    kind: type[CloudRunTarget] = CloudRunTarget

    def ground(self) -> Ground:
        jitter = self.weather.dice.random
        target = self.kind("local", self.api, self.http, self.clock, jitter=jitter)
        return replace(super().ground(), target=target)


@pytest.mark.parametrize(
    ("kind", "law"),
    [(Blind, "but traffic is"), (Hasty, "never passed"), (NoEtag, "ran over")],
    ids=["blind", "hasty", "no etag"],
)
def test_a_sabotaged_target_breaks_a_law(kind: type[CloudRunTarget], law: str) -> None:
    broken: list[str] = []

    for seed in range(1, 60):
        storm = Storm(seed, chance=0.6)
        storm.world.__class__ = type("Worse", (Sabotaged,), {"kind": kind})
        try:
            storm.run()
        except (Broken, AssertionError) as seen:
            broken.append(str(seen))

    assert any(law in told for told in broken), broken
