"""What of a run is gone, or somebody else's by now, read off the service."""

from __future__ import annotations

from typing import Any

from meshctl.plan.ours import built_on, gone
from meshctl.plan.steps import Plan
from tests import builders

SEEN = builders.seen(builders.revision("v2", "2"), builders.revision("v1"))


def plan(**changes: Any) -> Plan:
    given: dict[str, Any] = {
        "service": "chat", "target": "local", "name": "chat", "verb": "deploy",
        "strategy": "beside", "revision": "v2", "found": builders.split(v1=100),
    }  # fmt: skip
    return Plan(**given | changes)


def test_without_its_service_nothing_of_a_run_is_left() -> None:
    lost = gone(plan(), None)

    assert lost is not None
    assert (lost.why, lost.command) == ("chat does not exist any more", "meshctl deploy chat")
    assert not lost.replaced


def test_a_service_with_none_of_the_known_revisions_is_another_one() -> None:
    lost = gone(plan(revision="v4", found=builders.split(v3=100)), SEEN)

    assert lost is not None
    assert lost.replaced
    assert "another service by now" in lost.why


def test_one_revision_that_was_found_or_made_is_enough_to_know_it_by() -> None:
    assert gone(plan(revision="v9"), SEEN) is None
    assert gone(plan(found=builders.split(v9=100)), SEEN) is None


def test_a_service_without_any_revision_yet_may_still_be_ours() -> None:
    empty = SEEN.model_copy(update={"revisions": ()})

    assert gone(plan(), empty) is None


def test_only_what_the_run_created_itself_can_be_built_on() -> None:
    created = plan(strategy="create", found=())
    alone = SEEN.model_copy(update={"revisions": SEEN.revisions[:1]})

    assert "did not make" in built_on(created, SEEN)
    assert built_on(created, alone) == ""
    assert built_on(created, None) == ""
    assert built_on(plan(), SEEN) == ""
