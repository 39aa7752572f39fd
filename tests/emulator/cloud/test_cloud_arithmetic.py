"""The embedded cloud's small sums: shares of minimum instances, etags, ports, tar layers."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from meshctl.emulator import moment, ports
from meshctl.emulator.build import dockerfile
from meshctl.emulator.images.layer import Layer
from meshctl.emulator.images.reference import parse
from meshctl.emulator.run import scaling

ROWS = [("a", 50, ""), ("b", 50, ""), ("b", 0, "tag")]


def test_three_over_two_halves_favours_the_first_listed() -> None:
    assert scaling.shares(3, ROWS) == {"a": 2, "b": 1}


def test_a_tagged_revision_keeps_its_own_minimum_but_no_share_of_the_service() -> None:
    rows = [("a", 100, ""), ("b", 0, "tag")]
    service, revision = {"minInstanceCount": 2}, {"minInstanceCount": 1}

    assert scaling.floor(service, {}, "b", rows) == 0
    assert scaling.floor(service, revision, "b", rows) == 1
    assert scaling.floor(service, revision, "a", rows) == 2
    assert scaling.floor(service, revision, "unlisted", rows) == 0


def test_the_smaller_maximum_caps_the_larger_minimum() -> None:
    service, revision = {"minInstanceCount": 5}, {"maxInstanceCount": 3}

    assert scaling.ceiling(service, revision, "a", [("a", 100, "")]) == 3
    assert scaling.floor(service, revision, "a", [("a", 100, "")]) == 3


@given(st.integers(0, 50), st.lists(st.integers(1, 100), min_size=1, max_size=6))
def test_no_instance_is_lost_or_invented_when_shared(total: int, weights: list[int]) -> None:
    percents = [100 * w // sum(weights) for w in weights]
    percents[0] += 100 - sum(percents)
    rows = [(f"r{n}", percent, "") for n, percent in enumerate(percents)]

    assert sum(scaling.shares(total, rows).values()) == total


@given(st.integers(1, 4_000_000_000_000_000))
def test_an_etag_tells_its_microseconds(us: int) -> None:
    assert moment.etag_version(moment.etag(us, "projects/p/x")) == str(us)


@given(st.text(max_size=60))
def test_any_text_is_a_reference_or_none(text: str) -> None:
    found = parse(text)

    assert found is None or found.tag or found.digest


@given(st.text(max_size=200))
def test_any_dockerfile_is_parsed_or_refused(text: str) -> None:
    try:
        found = dockerfile.parse("Dockerfile", text)
    except dockerfile.BuildError:
        return
    assert any(i.name == "FROM" for i in found)


def test_a_port_asked_for_under_a_key_is_the_same_again() -> None:
    first = ports.pick(20000, 32767, set(), "key")

    assert ports.pick(20000, 32767, set(), "key") == first
    assert ports.pick(20000, 32767, {first}, "key") != first


def test_a_layer_does_not_depend_on_times_or_order(tmp_path: Path) -> None:
    digests = []
    for n, names in enumerate((("a", "b"), ("b", "a"))):
        blobs = tmp_path / f"blobs{n}"
        blobs.mkdir()
        layer = Layer()
        for name in names:
            path = tmp_path / f"{n}{name}"
            path.write_text(name)
            path.chmod(0o644)
            layer.add_file(name, path)
        digests.append(layer.write(blobs))

    assert digests[0] == digests[1]
