"""A plan says what changed since the build that it deploys, and what nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshctl.plan.make import make_deploy
from meshctl.plan.request import Request
from meshctl.plan.source import SourceSeen
from meshctl.plan.steps import Plan
from meshctl.spec.model import Build, Image
from meshctl.state.builds import Built
from tests.builders import release, request, seen


def built(number: int = 7, **changed: Any) -> Built:
    given: dict[str, Any] = {
        "image": "mesh", "repository": "host/mesh", "tag": f"mesh-v{number}", "number": number,
        "state": "done", "project": "local", "region": "local1", "at": "2026-11-30T20:45:12Z",
        "context_digest": "c", "recipe_digest": "d", "digest": f"sha256:{'1' * 64}",
    }  # fmt: skip
    return Built(**given | changed)


RUNNING = built(8, state="reserved", digest="", build="b-123")


def planned(source: SourceSeen | None, of: Built | None, **changed: Any) -> Plan:
    asked = request()
    image = Image(
        repository="host/mesh", tag="mesh-v{n}", build=Build(config="mesh.yaml", context=".")
    )
    fleet = asked.fleet.model_copy(update={"images": {"mesh": image}})
    wanted: Request = replace(asked, fleet=fleet, built=of, source=source, **changed)
    return make_deploy(wanted, seen())


def about(plan: Plan) -> list[str]:
    return [note for note in plan.notes if "image mesh" in note or "mesh-v" in note]


def test_what_changed_is_said_with_the_build_it_was_not_in() -> None:
    both = SourceSeen(changed=("recipe", "context"))

    assert about(planned(SourceSeen(changed=("context",)), built())) == [
        "the context of image mesh changed since mesh-v7 was built: `meshctl build mesh`"
    ]
    assert about(planned(both, built())) == [
        "the recipe and the context of image mesh changed since mesh-v7 was built: "
        "`meshctl build mesh`"
    ]


def test_what_nobody_knows_is_said_to_be_unknown() -> None:
    unknown = SourceSeen(unknown={"context": "there are more than 5,000 names in it"})

    assert about(planned(unknown, built())) == [
        "whether the context of image mesh changed since mesh-v7 was built is unknown: there are "
        "more than 5,000 names in it; `meshctl build mesh` finds out"
    ]


def test_what_is_the_same_or_was_not_looked_at_is_not_worth_a_word() -> None:
    assert about(planned(SourceSeen(), built())) == []
    assert about(planned(None, built())) == []
    given = release()
    assert about(planned(SourceSeen(changed=("context",)), built(), release=given)) == []


def test_a_build_that_is_under_way_is_named_whether_there_is_an_older_one_or_not() -> None:
    source = SourceSeen(begun=RUNNING)
    refused = planned(source, None).refused[0]

    assert about(planned(source, built())) == [
        "build b-123 of mesh-v8 was started and not followed to its end: `meshctl build mesh` does"
    ]
    assert refused.message == (
        "image mesh has no recorded build; build b-123 of mesh-v8 was started and not followed to "
        "its end"
    )
    assert refused.hint == "`meshctl build mesh` follows it, and records its digest"
    assert planned(SourceSeen(), None).refused[0].hint == "run `meshctl build mesh`"
