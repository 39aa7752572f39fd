"""Fetched payloads fit on an instance and are there in time, or the plan says what to change."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from meshctl.plan.adopted import Spot, draft, still_differs
from meshctl.plan.delivery import mounts_of, objects_of, problems
from meshctl.plan.make import make_deploy
from meshctl.plan.release import changes
from meshctl.plan.request import Request
from meshctl.plan.wanted import env_of, wanted_release
from meshctl.spec.inserted import fleet_text
from meshctl.spec.load import load
from meshctl.spec.model import Fleet
from tests.builders import IMAGE, place, revision, seen, service

GB = 10**9
SPOT = Spot("chat", "local", place(), declared=False)
HUB = "hub:org/q@0123456789abcdef0123456789abcdef01234567"


def fleet(source: str = HUB, size: int = 4 * GB, **changed: Any) -> Fleet:
    """A service with two models, each from a payload of its own."""
    file = {"bytes": size, "sha256": "a" * 64}
    changed = {"deliver": "fetch", "resources": {"memory": "16Gi", "cpu": 4},
               "models": {"m": {"payload": "p"}, "n": {"payload": "q"}},
               "default_model": "m"} | changed  # fmt: skip
    return Fleet.model_validate(
        {
            "meshctl": 1,
            "fleet": "test",
            "targets": {"local": {"kind": "cloudrun", "project": "local", "region": "local1"}},
            "images": {"mesh": {"ref": IMAGE}},
            "payloads": {name: {"source": source, "files": {f"{name}.gguf": file}}
                         for name in ("p", "q")},
            "services": {"chat": service(**changed)},
        }
    )  # fmt: skip


def wrong(of: Fleet) -> list[tuple[str, str]]:
    return [(key, hint) for key, _, hint in problems(of, of.services["chat"])]


@pytest.mark.parametrize(
    ("source", "file"),
    [
        (HUB, f"{HUB}/p.gguf"),
        (f"{HUB}/sub", f"{HUB}/sub/p.gguf"),
        (f"{HUB}/p.gguf", f"{HUB}/p.gguf"),
        ("r2://models/p.gguf", "r2://models/p.gguf"),
        ("s3://models/a/", "s3://models/a/p.gguf"),
        ("https://example.org/a", "https://example.org/a/p.gguf"),
    ],
)
def test_the_mesh_is_told_where_each_file_is_and_what_it_must_be(source: str, file: str) -> None:
    of = fleet(source, models={"m": {"payload": "p"}})

    (entry,) = json.loads(dict(env_of(of, of.services["chat"]))["MESH_MODELS"])

    told = {"path": "p.gguf", "bytes": 4 * GB, "sha256": "a" * 64, "source": file}
    assert entry["files"] == [told]
    assert objects_of(of, of.services["chat"]) == {"p/p.gguf": file}
    assert mounts_of(of, of.services["chat"]) == ()


def test_a_baked_payload_has_no_source_in_the_release() -> None:
    of = fleet(deliver="bake")

    assert '"source"' not in dict(env_of(of, of.services["chat"]))["MESH_MODELS"]


def test_the_declared_cache_is_the_one_the_mesh_keeps_to() -> None:
    of, all_of_them = fleet(cache="5GB"), fleet()

    assert dict(env_of(of, of.services["chat"]))["MESH_CACHE"] == "5000000000"
    assert "MESH_CACHE" not in dict(env_of(all_of_them, all_of_them.services["chat"]))


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({}, None),
        ({"resources": {"memory": "6Gi", "cpu": 4}}, "resources.memory"),
        ({"resources": {"memory": "6Gi", "cpu": 4}, "cache": "5GB"}, None),
        ({"resources": {"memory": "6Gi", "cpu": 4}, "cache": "8GB"}, "cache"),
        ({"cache": "3GB"}, "cache"),
        ({"cache": "20GiB"}, "cache"),
        ({"cache": "20GiB", "resources": {"memory": "2Gi", "cpu": 1}, "size": 98_362_432}, "cache"),
    ],
)
def test_what_is_kept_counts_against_the_memory_of_the_instance(
    changed: dict[str, Any], key: str | None
) -> None:
    found = wrong(fleet(**changed))

    assert [path for path, _ in found] == ([key] if key else [])
    assert all(hint for _, hint in found)


@pytest.mark.parametrize("changed", [{"cache": "3GB"}, {"cache": "20GiB"}, {"size": 9 * GB}])
def test_a_size_that_a_hint_names_can_be_typed_back_and_is_enough(changed: dict[str, Any]) -> None:
    ((_, hint),) = wrong(fleet(**changed))

    (named,) = re.findall(r"`cache: (\S+)`", hint)

    assert wrong(fleet(**{**changed, "cache": named})) == []


def test_a_cache_is_a_size_of_the_fleet_file_in_what_changes_and_no_hash() -> None:
    made = [wanted_release(of, of.services["chat"], place(of), IMAGE)
            for of in (fleet(cache="5GiB"), fleet(cache="6GiB"))]  # fmt: skip

    (change,) = changes(made[0].template, made[1].template)

    assert (change.path, change.before, change.after) == ("cache", "5 GiB", "6 GiB")


def test_a_default_model_that_comes_too_late_for_the_probe_is_refused_with_the_number() -> None:
    probe = {"period": "10s", "timeout": "5s", "failures": 3}

    (found,) = wrong(fleet(probe=probe))

    assert found == (
        "probe.failures", "write probe.failures: 4 at least, and leave time for the load"
    )  # fmt: skip
    assert wrong(fleet(probe=probe, default_model="m", size=2 * GB)) == []


def test_the_plan_says_how_long_every_start_fetches() -> None:
    of = fleet()

    plan = make_deploy(Request(of, "chat", "local", "abcd"), None)

    assert plan.refused == ()
    assert any("40s at 100 MB/s" in note and "4m" in note for note in plan.notes)


@pytest.mark.parametrize("source", [f"{HUB}/p.gguf", f"{HUB}/sub", "gs://models/a"])
@pytest.mark.parametrize("cache", [None, "5GB"])
def test_what_meshctl_delivers_by_fetch_is_adopted_as_the_same_release(
    source: str, cache: str | None
) -> None:
    given = {"cache": cache} if cache else {}
    of = fleet(source, models={"m": {"payload": "p"}}, role="standalone", **given)
    made = wanted_release(of, of.services["chat"], place(of), IMAGE)
    main = revision("v1", release=made.id, template=made.template)

    written = draft(SPOT, seen(main), main, "", None)
    again = load(fleet_text("chat", written.sections), "f.yaml", {})

    assert written.problems == ()
    assert still_differs(again, SPOT, seen(main), main, None) == ()
    service_ = again.services["chat"]
    assert (service_.deliver, service_.cache) == ("fetch", 5 * GB if cache else None)
    assert again.payloads["p"].source == objects_of(of, of.services["chat"])["p/p.gguf"]


def test_a_payload_that_the_fleet_has_elsewhere_is_named() -> None:
    of, known = fleet(f"{HUB}/a"), fleet(f"{HUB}/b")
    made = wanted_release(of, of.services["chat"], place(of), IMAGE)
    main = revision("v1", release=made.id, template=made.template)

    written = draft(SPOT, seen(main), main, "", known)

    assert any("payloads.p: the fleet has p.gguf at" in problem for problem in written.problems)
