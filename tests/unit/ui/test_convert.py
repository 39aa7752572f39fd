"""The JSON kinds: exactly the keys that scripts lean on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from meshctl.errors import Refused
from meshctl.outside.clock import parse_rfc3339
from meshctl.plan.release import changes
from meshctl.state.holder import Holder
from meshctl.ui import documents as ui
from meshctl.ui.convert import (
    change_entries,
    error_document,
    hashed,
    lock_entry,
    plan_document,
    rollout_document,
    rollouts_document,
    verify_document,
    worst,
)
from meshctl.ui.render import render
from tests.builders import template
from tests.unit.ui import samples

KEYS: dict[str, set[str]] = {
    "error/v1": {"class", "message", "hint", "place", "exit_code"},
    "plan/v1": {"services", "prices"},
    "rollout/v1": {
        "run", "service", "verdict", "exit_code", "from_release", "to_release", "revision", "url",
        "tag_url", "changes", "steps", "evidence", "restored",
        "verb", "target", "message", "hint", "left", "traffic",
    },
    "rollouts/v1": {"exit_code", "rollouts"},
    "status/v1": {"services", "prices"},
    "verify/v1": {"verdict", "checks"},
    "history/v1": {"releases", "chain", "notes"},
    "build/v1": {"image", "tag", "digest", "build", "bytes", "reused"},
    "validate/v1": {"errors", "warnings"},
    "emulator/v1": {"url", "pid", "state"},
}  # fmt: skip
INNER: dict[str, tuple[str, set[str]]] = {
    "plan/v1": (
        "services",
        {"name", "changes", "steps", "strategy", "outage_s", "refused",
         "verb", "target", "from_release", "to_release", "notes", "cost"},
    ),
    "status/v1": (
        "services",
        {"name", "target", "role", "state", "since", "who", "url", "pinned", "release", "serving",
         "tags", "newest", "drift", "notes", "scaling", "cost", "traffic",
         "run"},
    ),
    "verify/v1": ("checks", {"name", "verdict", "flaky", "seconds", "evidence", "why"}),
    "history/v1": (
        "releases",
        {"release", "revision", "run", "verb", "at", "who", "commit", "dirty", "verdict", "serving",
         "rollback_to", "ended"},
    ),
    "validate/v1": ("errors", {"place", "path", "message", "hint"}),
}  # fmt: skip
DOCUMENTS = [
    error_document(Refused("no", hint="do", place="here")),
    plan_document([samples.PLAN]),
    rollout_document(samples.ROLLED_BACK),
    rollouts_document([samples.DEPLOYED, samples.ROLLED_BACK]),
    samples.STATUS,
    verify_document(samples.VERDICT),
    samples.HISTORY,
    samples.BUILD,
    samples.VALIDATE,
    ui.Emulator(url=None, pid=None, state="stopped"),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.kind)
def test_a_kind_has_exactly_its_keys(document: ui.Document) -> None:
    data = document.data()

    assert next(iter(data)) == "kind"
    assert set(data) - {"kind"} == KEYS[document.kind]
    if document.kind in INNER:
        inner, keys = INNER[document.kind]
        assert set(data[inner][0]) == keys


def test_what_is_nested_in_plans_and_rollouts_has_exactly_its_keys() -> None:
    plan: dict[str, Any] = plan_document([samples.PLAN]).data()["services"][0]
    rollout = rollout_document(samples.ROLLED_BACK).data()

    assert set(plan["changes"][0]) == set(rollout["changes"][0]) == {"path", "from", "to"}
    assert set(plan["steps"][0]) == {"id", "kind", "text", "undo"}
    assert set(rollout["steps"][0]) == {"id", "kind", "text", "status", "seconds"}


def test_json_hides_env_values_too_and_shows_references_to_secrets() -> None:
    changes = plan_document([samples.PLAN]).data()["services"][0]["changes"]

    by_path = {change["path"]: (change["from"], change["to"]) for change in changes}
    assert by_path["env.MESH_LOG"] == (hashed("info"), hashed("debug"))
    assert by_path["env.TOKEN"] == ("secret hub version 3", "secret hub version 4")
    assert by_path["env.EMPTY"] == (None, hashed(""))
    assert by_path["args"] == ("mesh", "mesh --verbose")


def test_one_run_is_a_rollout_and_several_have_the_worst_code() -> None:
    one = rollouts_document([samples.DEPLOYED])
    several = rollouts_document([samples.DEPLOYED, samples.ROLLED_BACK, samples.NEEDS_HUMAN])

    assert one.kind == "rollout/v1"
    assert (several.kind, several.exit_code) == ("rollouts/v1", 4)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 0], 0), ([0, 5], 5), ([8, 5], 8), ([6, 8], 6), ([7, 6], 7), ([9, 7], 9),
     ([3, 9], 3), ([1, 3], 1), ([4, 1], 4), ([0, 130], 130), ([130, 5], 5)],
)  # fmt: skip
def test_the_worst_code_follows_the_order_of_the_table(codes: list[int], expected: int) -> None:
    assert worst(codes) == worst(reversed(codes)) == expected


def test_a_freeze_has_no_end_and_a_dead_lease_is_expired() -> None:
    holder = Holder(
        person="ada", host="desk", boot="b", pid=7, pid_start=1, what="deploy", run=None,
        since="2026-11-30T20:45:12.000000Z", until="2026-11-30T20:45:42.000000Z",
    )  # fmt: skip

    held = lock_entry("chat", "gcp", holder, free=False)
    frozen = lock_entry("chat", "gcp", holder.model_copy(update={"frozen": True}), free=False)
    expired = lock_entry("chat", "gcp", holder, free=True)

    assert (held.state, held.until) == ("held", holder.until)
    assert (frozen.state, frozen.until) == ("frozen", None)
    assert (expired.state, expired.who) == ("expired", "ada@desk (pid 7)")
    assert parse_rfc3339(str(held.since)).year == 2026


def test_the_env_values_of_a_model_are_hashed_like_those_of_a_service() -> None:
    entries = [{"id": "m", "context": 512, "env": {"HF_TOKEN": "hf_hush", "MODE": "hf_hush"}}]
    env = (("MESH_MODELS", json.dumps(entries)),)
    old, new = template(), template().model_copy(update={"env": env})
    found = changes(old, new)

    told = {entry.path: entry.to for entry in change_entries(found, show_values=False)}
    plan = plan_document([samples.PLAN.model_copy(update={"changes": found})])
    text = "\n".join(render(plan, 100, True)) + json.dumps(plan.data())

    assert told["models.m.env.HF_TOKEN"] == told["models.m.env.MODE"] == hashed("hf_hush")
    assert told["models.m.context"] == "512"
    assert "hf_hush" not in text and hashed("hf_hush") in text
