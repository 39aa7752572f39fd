"""What is deployed is what was built: whoever changed something since is told, by process."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.emulator.bench import Bench


def own_context(bench: Bench) -> Path:
    """A context of this test's own; the shared one is a link."""
    shared = (bench.folder / "context").resolve()
    (bench.folder / "context").unlink()
    shutil.copytree(shared, bench.folder / "context")
    return bench.folder / "context"


def notes(bench: Bench) -> list[str]:
    """What a plan says about the image."""
    (plan,) = bench.json("plan", "chat")["services"]
    return [note for note in plan["notes"] if "image small" in note]


def test_plan_and_deploy_say_that_the_context_changed_since_the_build(bench: Bench) -> None:
    note = own_context(bench) / "note"
    first = bench.deploy("chat")
    unchanged = notes(bench)
    note.write_text(bench.name)
    changed, nothing = notes(bench), bench.deploy("chat")
    built = bench.json("build", "small")
    again, second = notes(bench), bench.deploy("chat")

    assert (unchanged, again) == ([], [])
    assert len(changed) == 1
    assert changed[0].startswith("the context of image small changed since v")
    assert changed[0].endswith(" was built: `meshctl build small`")
    assert (nothing["run"], changed[0] in nothing["message"]) == ("", True)
    assert second["to_release"] != first["to_release"]
    assert built["digest"] in str(second["changes"])


def test_going_back_to_an_older_context_deploys_the_older_build(bench: Bench) -> None:
    note = own_context(bench) / "note"
    old = bench.json("build", "small")
    note.write_text(bench.name)
    bench.json("build", "small")
    bench.deploy("chat")
    note.unlink()

    back = bench.json("build", "small")
    deployed = bench.deploy("chat")

    assert (back["reused"], back["digest"], back["tag"]) == (True, old["digest"], old["tag"])
    assert [c["to"].endswith(old["digest"]) for c in deployed["changes"]] == [True]
    assert notes(bench) == []


def test_a_build_that_was_only_started_is_named_by_who_needs_it(bench: Bench) -> None:
    (own_context(bench) / "note").write_text(bench.name)
    bench.declare(image="other")

    started = bench.json("build", "other", "--async")
    refused = bench.json("deploy", "chat", "-y", code=8)
    bench.json("build", "other")
    deployed = bench.deploy("chat")

    assert f"build {started['build']} of {started['tag']} was started" in refused["message"]
    assert "`meshctl build other` follows it" in refused["hint"]
    assert deployed["verdict"] == "pass"
