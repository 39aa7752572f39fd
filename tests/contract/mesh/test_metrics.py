"""Prometheus reads what a mesh counts, and every kind of trouble moves its number."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.contract.mesh.engines import PREFILLING, odd
from tests.contract.mesh.listening import Listener, raw, until
from tests.contract.mesh.mesh_processes import Launcher, Mesh, scripted, wait_until

NAMES = {
    "mesh_requests": "counter",
    "mesh_engine_failures": "counter",
    "mesh_unauthorized": "counter",
    "mesh_keepalives_sent": "counter",
    "mesh_retries": "counter",
    "mesh_upstream_truncations": "counter",
    "mesh_queue_depth": "gauge",
    "mesh_held_requests": "gauge",
    "mesh_peer_up": "gauge",
    "mesh_model_loaded": "gauge",
    "mesh_queue_wait_seconds": "histogram",
    "mesh_swap_seconds": "histogram",
    "mesh_load_seconds": "histogram",
    "mesh_time_to_first_byte_seconds": "histogram",
    "mesh_time_to_first_event_seconds": "histogram",
    "mesh_time_to_first_token_seconds": "histogram",
}


class Page:
    """One reading of /metrics."""

    def __init__(self, mesh: Mesh) -> None:
        answer = mesh.get("/metrics")
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        self.families = list(text_string_to_metric_families(answer.text))

    def value(self, name: str, **labels: str) -> float:
        """The one sample of this name with these labels; 0 where there is none yet."""
        found = [
            sample.value
            for family in self.families
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]
        assert len(found) <= 1, (name, labels)
        return found[0] if found else 0.0


def test_every_name_is_there_from_the_first_with_its_kind_and_a_sentence(launch: Launcher) -> None:
    page = Page(launch([scripted()]))

    kinds = {family.name: family.type for family in page.families}
    assert NAMES.items() <= kinds.items()
    assert all(family.documentation.endswith(".") for family in page.families)


def test_requests_are_counted_by_how_they_ended(launch: Launcher, tmp_path: Path) -> None:
    mesh = launch([
        odd("slow", PREFILLING, tmp_path / "gate", default=True),
        scripted("good", group="cpu"), scripted("cut", "--mode", "cut", group="other"),
    ])  # fmt: skip
    mesh.chat(model="good", stream=True).close()
    mesh.chat(model="nobody-declared-this")
    assert mesh.chat(model="cut").status_code == 502
    left = raw(mesh, "slow")
    until(left, b"accepted")
    held = Page(mesh)
    left.close()

    wait_until(lambda: Page(mesh).value("mesh_requests_total", model="slow", outcome="left") == 1)
    page = Page(mesh)

    assert held.value("mesh_held_requests") == 1 and page.value("mesh_held_requests") == 0
    assert page.value("mesh_requests_total", model="", outcome="refused") == 1
    assert page.value("mesh_requests_total", model="cut", outcome="failed") == 1
    assert page.value("mesh_upstream_truncations_total") == 1
    assert page.value("mesh_time_to_first_byte_seconds_count") == 2
    assert "nobody" not in mesh.get("/metrics").text


def test_waits_swaps_loads_and_signs_of_life_are_measured(launch: Launcher, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    mesh = launch(
        [odd("a", PREFILLING, gate, default=True), scripted("b", "--load", "0.3")],
        MESH_KEEPALIVE="50ms",
    )
    first = Listener(mesh, "a")
    first.until(b": keep-alive")
    second = Listener(mesh, "b")
    second.until(b"queued position 1")
    waiting = Page(mesh)
    gate.touch()
    second.all()
    wait_until(lambda: Page(mesh).value("mesh_requests_total", model="b", outcome="answered") == 1)

    page = Page(mesh)

    assert (waiting.value("mesh_queue_depth"), page.value("mesh_queue_depth")) == (1, 0)
    assert page.value("mesh_queue_wait_seconds_count") == 1
    assert page.value("mesh_queue_wait_seconds_sum") > 0.3
    assert page.value("mesh_keepalives_sent_total") > 0
    assert page.value("mesh_swap_seconds_count", model="b") == 1
    load = page.value("mesh_load_seconds_sum", model="b")
    assert 0.3 < load <= page.value("mesh_swap_seconds_sum", model="b")
    assert page.value("mesh_load_seconds_count", model="a") == 1
    assert page.value("mesh_swap_seconds_count", model="a") == 0
    assert [page.value("mesh_model_loaded", model=name) for name in "ab"] == [0, 1]
    for what in ("byte", "event", "token"):
        assert page.value(f"mesh_time_to_first_{what}_seconds_count") == 2


def test_dead_engines_dead_peers_and_wrong_keys_are_counted(launch: Launcher) -> None:
    mesh = launch(
        [scripted("a")], MESH_FEDERATION_PEERS="dead=http://127.0.0.1:9|far,idle=http://p|m"
    )
    closed = launch([scripted("a")], MESH_API_KEYS="key-of-alice-0123456")
    [engine] = mesh.engines()

    os.kill(engine, signal.SIGKILL)
    mesh.chat(model="far")
    closed.chat(model="a")

    wait_until(lambda: Page(mesh).value("mesh_engine_failures_total", model="a") == 1)
    assert Page(mesh).value("mesh_peer_up", peer="dead") == 0
    assert Page(mesh).value("mesh_peer_up", peer="idle") == 1
    key = {"Authorization": "Bearer key-of-alice-0123456"}
    text = closed.http.get(closed.url + "/metrics", headers=key, timeout=30).text
    assert "mesh_unauthorized_total 1\n" in text
