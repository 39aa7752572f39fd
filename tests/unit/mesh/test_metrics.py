"""The page of metrics is what Prometheus reads, and equal numbers give equal pages."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from meshctl.mesh.metrics import BOUNDS_S, Metrics, outcome_of
from meshctl.mesh.stopwatch import Stopwatch


def test_prometheus_reads_every_line_and_knows_what_each_name_is() -> None:
    metrics = Metrics()
    metrics.count("m", "answered")
    metrics.failed("m")
    metrics.first["token"].observe(0.3)
    metrics.loads.observe("org/m:q4@1", 2.0)
    page = metrics.text({"a": True}, {"m": False})

    families = list(text_string_to_metric_families(page))

    samples = [sample for family in families for sample in family.samples]
    assert len(samples) == sum(not line.startswith("#") for line in page.splitlines())
    assert {family.type for family in families} == {"counter", "gauge", "histogram"}
    assert all(family.documentation for family in families)
    assert len({family.name for family in families}) == len(families)
    loads = {s.labels["model"]: s.value for s in samples if s.name == "mesh_load_seconds_sum"}
    assert loads == {"org/m:q4@1": 2.0}


def test_a_swap_lasts_from_the_end_of_the_first_in_the_way_until_ready() -> None:
    metrics = Metrics()
    watch = Stopwatch(metrics)

    watch.makes_way("b", 10.0)
    watch.makes_way("b", 12.0)
    watch.starts("b", 13.0)
    watch.is_ready("b", 17.0)

    text = metrics.text({}, {})
    assert 'mesh_swap_seconds_sum{model="b"} 7.000000' in text
    assert 'mesh_load_seconds_sum{model="b"} 4.000000' in text


def test_a_load_that_nobody_made_way_for_is_no_swap() -> None:
    metrics = Metrics()
    watch = Stopwatch(metrics)

    watch.makes_way("b", 10.0)
    watch.nobody_came()
    for model in "cb":
        watch.starts(model, 90.0)
        watch.is_ready(model, 91.0)

    text = metrics.text({}, {})
    assert "mesh_swap_seconds_count" not in text
    assert 'mesh_load_seconds_count{model="b"} 1' in text


def test_requests_are_counted_by_model_and_outcome() -> None:
    metrics = Metrics()

    for model, outcome in (("m", 200), ("m", 200), ("m", 404), ("", 503)):
        metrics.count(model, outcome_of(outcome))

    text = metrics.text({"b": False, "a": True}, {"m": True})
    assert 'mesh_requests_total{model="m",outcome="answered"} 2' in text
    assert 'mesh_requests_total{model="m",outcome="refused"} 1' in text
    assert 'mesh_requests_total{model="",outcome="failed"} 1' in text
    assert 'mesh_peer_up{peer="a"} 1\nmesh_peer_up{peer="b"} 0' in text


def test_a_bucket_counts_all_that_were_no_longer() -> None:
    metrics = Metrics()

    for seconds in (0.005, 0.3, 0.3, BOUNDS_S[-1] + 1):
        metrics.wait.observe(seconds)

    text = metrics.text({}, {})
    name = "mesh_queue_wait_seconds"
    assert f'{name}_bucket{{le="0.005"}} 1' in text
    assert f'{name}_bucket{{le="0.5"}} 3' in text
    assert f'{name}_bucket{{le="{BOUNDS_S[-1]}"}} 3' in text
    assert f'{name}_bucket{{le="+Inf"}} 4\n' in text
    assert f"{name}_count 4" in text
