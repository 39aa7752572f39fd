"""Which live services that no fleet declares are stale."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from meshctl.plan.cost import Cost
from meshctl.plan.period import Period
from meshctl.plan.stale import (
    Asked,
    ServiceFound,
    command_of,
    judged,
    removal_plan,
    users_of,
    way_out,
)
from meshctl.plan.steps import RemoveService
from tests.builders import revision, seen, template

SINCE = "2026-11-23T00:00:00Z"
OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-11-29T00:00:00Z"
HOUR = Period(since="2026-11-29T09:00:00Z", until="2026-11-29T10:00:00Z")
COST = Cost(idle_instances=0, idle_usd_per_hour=0.0, full_instances=1, full_usd_per_hour=1.0)


def found(created: str | None = OLD, **asked: Any) -> ServiceFound:
    given = {"since": SINCE} | asked
    return ServiceFound(seen(), template(), created, Asked(**given), COST)


def test_a_service_that_nobody_asked_for_a_while_is_stale() -> None:
    verdict, why = judged(found(), said_stale=False)

    assert verdict == "stale"
    assert "asked by nobody since 2026-11-23 00:00 UTC" in why


@pytest.mark.parametrize("said", [True, False])
def test_a_service_that_was_asked_is_kept_whatever_is_said_of_it(said: bool) -> None:
    verdict, why = judged(found(last=HOUR), said_stale=said)

    assert (verdict, why) == ("kept", "was asked between 2026-11-29 09:00 and 10:00 UTC")


@pytest.mark.parametrize("said", [True, False])
def test_a_peer_of_the_fleet_is_kept_whatever_is_said_of_it(said: bool) -> None:
    verdict, why = judged(replace(found(), users=("chat",)), said_stale=said)

    assert (verdict, "environment of chat" in why) == ("kept", True)


@pytest.mark.parametrize(
    "service", [found(unknown="monitoring is closed to us"), found(YOUNG), found(None)]
)
def test_where_nobody_can_tell_the_operator_has_to_say_so(service: ServiceFound) -> None:
    assert judged(service, said_stale=False)[0] == "unknown"
    assert judged(service, said_stale=True)[0] == "stale"


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("http://old.fake", ["chat"]),
        ('[{"url": "https://old-123456.us-central1.run.app"}]', ["chat"]),
        ("http://older.fake", []),
        ("", []),
    ],
)
def test_whoever_names_the_address_of_a_service_uses_it(text: str, users: list[str]) -> None:
    peers = revision("v1", template=template(env=(("MESH_FEDERATION_PEERS", text),)))
    old = seen().model_copy(update={"name": "old", "url": "http://old.fake"})

    assert users_of(old, [seen(peers)]) == users


@pytest.mark.parametrize(
    ("users", "last", "hint"),
    [
        (("chat",), HOUR, "take it out of there first"),
        (("chat",), None, "take it out of there first"),
        ((), HOUR, "--stale-after 1h"),
    ],
)
def test_what_helps_is_said_for_the_reason_why_it_stays(
    users: tuple[str, ...], last: Period | None, hint: str
) -> None:
    kept = replace(found(last=last), users=users)
    verdict, _ = judged(kept, said_stale=False)

    assert verdict == "kept"
    assert hint in way_out(replace(kept, verdict=verdict))


def test_a_service_is_removed_only_as_it_was_seen() -> None:
    plan = removal_plan(found(), "local")

    assert [step.act for step in plan.steps] == [RemoveService(etag="1", generation=1)]
    assert plan.steps[0].undo == ""


def test_the_command_says_what_the_operator_has_to_say() -> None:
    assert command_of("old", "stale") == "meshctl gc old --services --yes"
    assert command_of("old", "unknown") == "meshctl gc old --services --stale --yes"
    assert command_of("old", "kept") == ""
