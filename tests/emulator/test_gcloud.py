"""The real gcloud as a second client: what it does meshctl sees, and the other way round.

Skipped where there is no gcloud; what it asks for is then still tried by test_v1_api.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from meshctl.cli.embedded_page import gcloud_environment
from tests.emulator.bench import Bench, call, short

pytestmark = pytest.mark.skipif(
    shutil.which("gcloud") is None, reason="gcloud is not installed on this machine"
)


class Gcloud:
    """The real program, told to ask the embedded cloud as docs/embedded-cloud.md says."""

    def __init__(self, bench: Bench, config: Path) -> None:
        told = gcloud_environment(bench.url, project="local", region="local1")
        own = {"no_proxy": "", "NO_PROXY": "", "CLOUDSDK_CONFIG": str(config)}
        self.env = {**os.environ, **own, **told}
        self.bench = bench

    def __call__(self, *words: str) -> Any:
        """Run it, and give its JSON."""
        done = subprocess.run(
            ["gcloud", *words, "--format", "json", "--quiet"], cwd=self.bench.folder,
            env=self.env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"gcloud {words}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout or "null")


@pytest.fixture
def gcloud(bench: Bench, tmp_path: Path) -> Gcloud:
    return Gcloud(bench, tmp_path / "gcloud")


def test_what_meshctl_deploys_gcloud_lists_and_describes(bench: Bench, gcloud: Gcloud) -> None:
    deployed = bench.deploy("chat")

    listed = {service["metadata"]["name"] for service in gcloud("run", "services", "list")}
    service = gcloud("run", "services", "describe", bench.name)
    (revision,) = gcloud("run", "revisions", "list", "--service", bench.name)
    described = gcloud("run", "revisions", "describe", revision["metadata"]["name"])

    assert bench.name in listed
    assert service["status"]["url"] == deployed["url"]
    assert service["spec"]["traffic"] == [{"percent": 100, "revisionName": deployed["revision"]}]
    assert revision["metadata"]["name"] == deployed["revision"]
    env = {row["name"]: row["value"] for row in described["spec"]["containers"][0]["env"]}
    assert env["MESH_RELEASE"] == deployed["to_release"]


def test_a_split_made_with_gcloud_is_a_strangers_pin_to_meshctl(
    bench: Bench, gcloud: Gcloud
) -> None:
    first = bench.deploy("chat")
    bench.env(V="2")
    second = bench.deploy("chat")

    gcloud("run", "services", "update-traffic", bench.name,
           "--to-revisions", f"{first['revision']}=30")  # fmt: skip
    (status,) = bench.json("status", "chat")["services"]
    bench.env(V="3")
    refused = bench.json("deploy", "chat", "-y", code=8)

    assert bench.split() == {first["revision"]: 30, second["revision"]: 70}
    assert status["pinned"] is True
    assert "pinned by a stranger" in refused["message"]


def test_a_revision_made_with_gcloud_is_another_release_whatever_its_labels_say(
    bench: Bench, gcloud: Gcloud
) -> None:
    deployed = bench.deploy("chat")

    gcloud("run", "services", "update", bench.name, "--update-env-vars", "MODE=ok,BY=hand")
    gcloud("run", "services", "update-traffic", bench.name, "--to-latest")
    (status,) = bench.json("status", "chat")["services"]

    newest = (bench.service() or {})["latestReadyRevision"]
    by_hand = next(r for r in bench.revisions() if r["name"] == newest)
    assert by_hand["labels"]["meshctl-release"] == deployed["to_release"]
    assert status["release"] != deployed["to_release"]
    assert [row["path"] for row in status["drift"]] == ["env.BY"]


def test_a_canary_made_with_gcloud_carries_a_tag_and_no_traffic(
    bench: Bench, gcloud: Gcloud
) -> None:
    deployed = bench.deploy("chat")
    image = bench.revisions()[0]["containers"][0]["image"]

    gcloud("run", "deploy", bench.name, "--image", image, "--no-traffic", "--tag", "canary")
    (status,) = bench.json("status", "chat")["services"]
    gcloud("run", "services", "update-traffic", bench.name, "--remove-tags", "canary")

    assert [row["tag"] for row in status["tags"]] == ["canary"]
    assert bench.split() == {deployed["revision"]: 100}
    assert bench.tags() == {}


def test_a_service_made_and_deleted_with_gcloud(bench: Bench, gcloud: Gcloud) -> None:
    bench.deploy("chat")
    image = bench.revisions()[0]["containers"][0]["image"]
    name = f"{bench.name}-g"

    made = gcloud("run", "deploy", name, "--image", image, "--allow-unauthenticated",
                  "--max-instances", "1", "--set-env-vars", "MODE=ok")  # fmt: skip
    found = bench.service(name)
    answered = bench.ask(made["status"]["url"])
    gcloud("run", "services", "delete", name)

    assert found and short({"revision": found["latestReadyRevision"]}).startswith(f"{name}-00001-")
    assert answered[0] == 200
    assert bench.service(name) is None


def test_a_secret_that_gcloud_mounts_is_named_by_its_version(bench: Bench, gcloud: Gcloud) -> None:
    call(bench.url, "PUT", "/emulator/settings", {"secrets": {"hub": {"3": "s3cret"}}})
    bench.deploy("chat")

    gcloud("run", "services", "update", bench.name, "--no-traffic",
           "--set-secrets", "S=hub:3,/etc/sec/x=hub:3")  # fmt: skip
    described = gcloud("run", "services", "describe", bench.name)

    made = max(bench.revisions(), key=lambda one: one["createTime"])
    (volume,) = made["volumes"]
    assert volume["secret"]["secret"] == "hub"
    assert [(one["path"], one["version"]) for one in volume["secret"]["items"]] == [("x", "3")]
    shown = described["spec"]["template"]["spec"]["volumes"][0]["secret"]
    assert (shown["secretName"], shown["items"][0]["key"]) == ("hub", "3")


def test_a_build_submitted_with_gcloud_runs(bench: Bench, gcloud: Gcloud) -> None:
    tag = f"local1-docker.pkg.dev/local/bench/{bench.name}:v1"

    submitted = gcloud("builds", "submit", "context", "--async", "--tag", tag)
    listed = gcloud("builds", "list")

    assert submitted["id"] in {build["id"] for build in listed}
