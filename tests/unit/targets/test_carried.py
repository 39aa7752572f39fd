"""What others hung on a template is on the next revision too, and nothing that the API rejects."""

from __future__ import annotations

from typing import Any

from meshctl.plan.observed import Carried
from meshctl.plan.release import release_of
from meshctl.targets.cloudrun.carried import carried
from meshctl.targets.cloudrun.edits import named_template
from meshctl.targets.cloudrun.reading import revision_seen
from tests import builders

RELEASE = release_of(builders.template())
KEPT = Carried(labels={"team": "search"}, annotations={"owner": "ana"}, container="engine")


def test_the_next_revision_keeps_it_beside_our_own_labels_and_is_the_same_release() -> None:
    written = named_template(RELEASE, "chat-2", "chat.local.20261130T20.s001", KEPT)

    assert written["labels"].keys() == {"team", "meshctl-release", "meshctl-run"}
    assert written["annotations"] == {"owner": "ana"}
    assert written["containers"][0]["name"] == "engine"
    assert revision_seen({**written, "name": "a/b/revisions/chat-2"}).release == RELEASE.id


def test_what_is_written_is_what_is_read_again() -> None:
    assert carried(named_template(RELEASE, "chat-2", "chat.local.20261130T20.s001", KEPT)) == KEPT


def test_labels_of_ours_and_of_the_system_are_not_carried() -> None:
    labels = {
        "meshctl-release": "r0123456789", "client.knative.dev/nonce": "abc",
        "run.googleapis.com/startupProbeType": "Default", "team": "search",
    }  # fmt: skip

    assert carried({"labels": labels}).labels == {"team": "search"}


def test_a_template_that_says_nothing_legible_carries_nothing() -> None:
    odd: dict[str, Any] = {"labels": "team", "annotations": 7, "containers": "mesh"}

    assert carried(odd) == Carried()
    assert "annotations" not in named_template(RELEASE, "chat-2", "chat.local.20261130T20.s001")
