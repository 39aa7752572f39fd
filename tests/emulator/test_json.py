"""Every document of every command is of its kind: read back by its type, with the agreed keys.

The keys are those of design section 6, written out here, because scripts lean on them.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from meshctl.ui import answers, documents
from meshctl.ui.documents import Document
from tests.emulator.bench import Bench

TYPES: dict[str, type[Document]] = {
    "status/v1": answers.Status,
    "plan/v1": documents.Plan,
    "rollout/v1": documents.Rollout,
    "rollouts/v1": documents.Rollouts,
    "verify/v1": documents.Verify,
    "history/v1": answers.History,
    "explain/v1": answers.Explain,
    "build/v1": documents.Build,
    "validate/v1": documents.Validate,
    "emulator/v1": documents.Emulator,
    "lock/v1": answers.Locks,
    "error/v1": documents.Error,
    "config/v1": documents.Config,
    "schema/v1": documents.Schema,
    "example/v1": documents.Example,
    "version/v1": documents.Version,
}
KEYS = {
    "status": "name target role state since who url pinned release serving tags newest drift",
    "rollout": "kind run service verdict exit_code from_release to_release revision url tag_url "
    "changes steps evidence restored",
    "release": "release revision run at who commit dirty verdict serving rollback_to",
    "plan": "name changes steps strategy outage_s refused",
    "step": "id kind status seconds",
    "check": "name verdict flaky seconds evidence why",
    "build": "kind image tag digest build bytes reused",
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def of_kind(document: Any, kind: str) -> Any:
    """The document, proved to be of the kind: its type reads it and writes it again the same."""
    assert document["kind"] == kind
    assert TYPES[kind].model_validate(document).data() == document
    return document


def has(value: dict[str, Any], keys: str) -> None:
    """At least the agreed keys: a script that reads them must not care for more."""
    assert set(KEYS[keys].split()) <= set(value)


def test_a_deploy_and_everything_that_asks_about_it(bench: Bench) -> None:
    planned = of_kind(bench.json("plan"), "plan/v1")
    deployed = of_kind(bench.deploy("chat"), "rollout/v1")
    status = of_kind(bench.json("status"), "status/v1")
    history = of_kind(bench.json("history", "chat"), "history/v1")
    explained = of_kind(bench.json("explain", deployed["run"]), "explain/v1")

    has(planned["services"][0], "plan")
    assert set(planned["services"][0]["steps"][0]) == {"id", "kind", "text", "undo"}
    assert set(planned["services"][0]["changes"][0]) == {"path", "from", "to"}
    has(deployed, "rollout")
    has(deployed["steps"][0], "step")
    has(deployed["evidence"][0], "check")
    has(status["services"][0], "status")
    assert set(status["services"][0]["serving"][0]) == {"release", "revision", "percent"}
    assert set(status["services"][0]["newest"]) == {"revision", "release", "ready"}
    assert TIME.fullmatch(status["services"][0]["since"])
    has(history["releases"][0], "release")
    assert TIME.fullmatch(history["releases"][0]["at"])
    assert (explained["exit_code"], explained["verb"]) == (0, "deploy")


def test_canary_verify_cutover_and_rollback(bench: Bench) -> None:
    bench.deploy("chat")
    bench.env(COLOUR="blue")

    canary = of_kind(bench.json("canary", "chat", "-y", "--tag", "v2"), "rollout/v1")
    tagged = of_kind(bench.json("status"), "status/v1")["services"][0]["tags"][0]
    verified = of_kind(bench.json("verify", "chat", "--tag", "v2"), "verify/v1")
    of_kind(bench.json("cutover", "chat", "-y", "--tag", "v2"), "rollout/v1")
    of_kind(bench.json("rollback", "chat", "-y"), "rollout/v1")

    assert tagged == {"tag": "v2", "revision": canary["revision"], "url": canary["tag_url"]}
    assert set(verified) == {"kind", "verdict", "checks"}
    for check in verified["checks"]:
        has(check, "check")


def test_a_paused_run_its_resume_and_its_abort(bench: Bench) -> None:
    bench.deploy("chat")
    bench.env(MODE="busy")

    of_kind(bench.deploy("chat", code=7), "rollout/v1")
    of_kind(bench.json("resume", "chat", code=7), "rollout/v1")
    aborted = of_kind(bench.json("abort", "chat", "-y"), "rollout/v1")

    assert aborted["restored"] is True


def test_refusals_several_services_and_mistakes(bench: Bench) -> None:
    bench.declare("unbuilt", image="other")

    several = of_kind(bench.deploy(code=8), "rollouts/v1")
    refused = of_kind(bench.deploy("unbuilt", code=8), "error/v1")
    planned = of_kind(bench.json("plan", "unbuilt", code=8), "plan/v1")
    right = of_kind(bench.json("validate"), "validate/v1")
    bench.file.write_text("meshctl: 2")
    wrong = of_kind(bench.json("validate", code=64), "validate/v1")

    assert set(several) == {"kind", "exit_code", "rollouts"}
    has(several["rollouts"][0], "rollout")
    assert set(refused) == {"kind", "class", "message", "hint", "place", "exit_code"}
    assert planned["services"][0]["refused"][0]["hint"] == "run `meshctl build other`"
    assert right["errors"] == []
    assert set(wrong["errors"][0]) == {"place", "path", "message", "hint"}


def test_locks_and_the_small_documents(bench: Bench) -> None:
    frozen = of_kind(bench.json("lock", "acquire", "chat", "-m", "mine"), "lock/v1")
    of_kind(bench.json("lock", "status"), "lock/v1")
    of_kind(bench.json("lock", "release", "chat"), "lock/v1")
    of_kind(bench.json("emulator", "status"), "emulator/v1")
    of_kind(bench.json("config", "show"), "config/v1")
    of_kind(bench.json("config", "schema"), "schema/v1")
    of_kind(bench.json("config", "example"), "example/v1")
    of_kind(bench.json("--version"), "version/v1")
    built = of_kind(bench.json("build", "small"), "build/v1")

    assert frozen["locks"][0]["what"] == "mine"
    has(built, "build")
    assert built["reused"] is True


def test_values_of_the_environment_are_hashes_unless_they_are_asked_for(bench: Bench) -> None:
    bench.env(PASSWORD="correct horse")

    hidden = bench.meshctl("-o", "json", "plan")
    shown = bench.meshctl("-o", "json", "plan", "--show-values")
    deployed = bench.meshctl("-o", "json", "deploy", "-y", "chat")

    assert "correct horse" not in hidden.out + hidden.err + deployed.out + deployed.err
    assert "correct horse" in shown.out


def test_yaml_and_names_say_the_same(bench: Bench) -> None:
    bench.deploy("chat")

    as_yaml = bench.meshctl("-o", "yaml", "status")
    as_names = bench.meshctl("status", "-o", "name")

    assert yaml.safe_load(as_yaml.out) == bench.json("status")
    assert as_names.out.strip().endswith("chat")
