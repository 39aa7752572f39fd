"""A real mesh in the embedded cloud: what went wrong is found in its log, and its keys are kept."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

from meshctl.ui.asked import Logs
from tests.emulator.bench import DIRECT, call, until
from tests.emulator.federation import Federation, model

KEY = "key-of-alice-0123456"


def errors(federation: Federation) -> list[dict[str, Any]]:
    """What `meshctl logs --severity error` shows."""
    document = federation.json("logs", "chat", "--severity", "error")
    assert Logs.model_validate(document).data() == document
    return list(document["lines"])


def test_the_errors_of_a_mesh_and_its_engines_are_found_by_severity(
    federation: Federation,
) -> None:
    federation.declare("chat", models={"near": model("crash")}, checks=["identity"])
    federation.deploy("chat")
    before = errors(federation)

    federation.asks("near")
    crash = "the engine of near exited with code 1: fatal: scripted crash"
    until(lambda: any(crash in line["text"] for line in errors(federation)))
    document = federation.json("logs", "chat", "--severity", "error")

    assert before == []
    assert {line["severity"] for line in document["lines"]} == {"ERROR"}
    assert document["lines"][0]["text"] == "[near] fatal: scripted crash"
    assert document["cause"] == "fatal: scripted crash"
    everything = federation.json("logs", "chat")["lines"]
    assert any(line["text"].startswith("mesh: the engine of near is ready") for line in everything)


def test_a_mesh_that_cannot_start_tells_its_reason_and_not_its_json(
    federation: Federation,
) -> None:
    federation.declare("chat", env={"MESH_QUEUE": "many"})

    failed = federation.meshctl("deploy", "chat", "-y")

    assert failed.code == 3, failed.err
    said = " ".join((failed.out + failed.err).split())
    assert "mesh: MESH_QUEUE: 'many' is not a whole number" in said
    assert '"severity"' not in said


def status_of(url: str, **headers: str) -> int:
    request = urllib.request.Request(f"{url}/v1/models", headers=headers)
    try:
        with DIRECT.open(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)


def test_a_mesh_with_keys_is_deployed_by_who_has_one(federation: Federation) -> None:
    call(federation.url, "PUT", "/emulator/settings", {"secrets": {"keys": {"1": KEY}}})
    federation.declare("chat", env={"MESH_API_KEYS": {"secret": "keys", "version": "1"}})

    without = federation.meshctl("deploy", "chat", "-y")
    deployed = federation.json("deploy", "chat", "-y", MESHCTL_API_KEY=KEY)

    url = (federation.service(f"{federation.name}-chat") or {})["uri"]
    assert without.code == 3
    assert "ask with one of its keys in MESHCTL_API_KEY" in " ".join(without.err.split())
    assert deployed["exit_code"] == 0
    assert status_of(url) == 401
    assert status_of(url, Authorization=f"Bearer {KEY}") == 200
    kept = [path.read_text() for path in federation.folder.rglob("*.json")]
    assert kept and not any(KEY in text for text in kept)
