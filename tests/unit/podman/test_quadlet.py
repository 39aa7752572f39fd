"""A quadlet says all that a service asks for, and nothing that would arrive otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from meshctl.errors import Refused
from meshctl.plan.release import EnvSecret
from meshctl.targets.podman.quadlet import quadlet
from tests.fakes import systemd_syntax as systemd
from tests.unit.podman.made import AMD, NVIDIA, said, unit

FULL: dict[str, Any] = {
    "command": ["/entry point", ""],
    "args": ["-m", "/models/small.gguf", "--json={\"a\": \"50%\"}", "$HOME"],
    "mounts": {"/models": "payload:small", "/data": "/srv/data"},
    "shm_size": "16GiB",
    "ulimits": {"nofile": "65536", "memlock": "-1:-1"},
    "health": ["curl", "-f", "http://127.0.0.1:8080/health"],
    "sweep": {"match": "small.gguf"},
}  # fmt: skip


def test_a_quadlet_is_written_whole(golden: Callable[[str, str], None]) -> None:
    text = quadlet(
        unit(
            target={"gpus": [AMD]},
            of=FULL,
            folders={"small": "/var/lib/meshctl/payloads/small"},
            ports=("7773:8080", "127.0.0.1:7774:8080"),
            env={"B": "two words", "A": "1"},
            secrets=(EnvSecret(name="HF_TOKEN", secret="hf-token", version="3"),),
            labels={"team": "a b", "managed-by": "x"},
            weights_bytes=10 * 10**9,
        )
    )

    golden("podman/small.container", text)


def test_the_entry_point_and_the_health_command_are_lists_that_no_shell_reads() -> None:
    text = quadlet(unit(of=FULL | {"mounts": {}, "health": ["a b", "$x%", 'q"']}))

    (entry,), (health,) = said(text, "Entrypoint"), said(text, "HealthCmd")
    assert json.loads(entry) == ["/entry point", ""]
    assert json.loads(systemd.dollars(systemd.specifiers(health))) == ["a b", "$x%", 'q"']


@pytest.mark.parametrize(
    ("gpus", "devices", "wanted"),
    [
        ([], [], []),
        ([AMD], [], ["/dev/kfd", "/dev/dri"]),
        ([NVIDIA], [], ["nvidia.com/gpu=all"]),
        ([NVIDIA, AMD], [], ["/dev/kfd", "/dev/dri", "nvidia.com/gpu=all"]),
        ([{"name": "New", "memory": "1GiB", "vendor": "amd"}], [], ["/dev/kfd", "/dev/dri"]),
        ([NVIDIA], ["nvidia.com/gpu=0"], ["nvidia.com/gpu=0"]),
    ],
)
def test_cards_are_passed_in_as_their_vendor_wants_it(
    gpus: list[Any], devices: list[str], wanted: list[str]
) -> None:
    text = quadlet(unit(target={"gpus": gpus}, of={"devices": devices}))

    assert said(text, "AddDevice") == wanted


def test_a_card_of_an_unknown_vendor_is_refused() -> None:
    with pytest.raises(Refused, match="whose card New is") as refused:
        quadlet(unit(target={"gpus": [{"name": "New", "memory": "1GiB"}]}))

    assert "vendor" in refused.value.hint


def test_a_users_unit_starts_with_the_user_and_asks_for_nothing_of_roots() -> None:
    text = quadlet(unit(target={"user": "true", "gpus": [AMD]}))

    assert said(text, "WantedBy") == ["default.target"]
    assert said(text, "GroupAdd") == ["keep-groups"]
    assert said(text, "OOMScoreAdjust") == []


@pytest.mark.parametrize("argument", ["", ";"])
def test_an_argument_that_quadlet_would_lose_is_refused(argument: str) -> None:
    with pytest.raises(Refused, match="cannot carry the argument"):
        quadlet(unit(of={"args": ["-m", argument, "x"]}))


@pytest.mark.parametrize(
    ("of", "why"),
    [
        ({"mounts": {"/m": "payload:gone"}}, "nobody said where payload gone lies"),
        ({"sweep": {"match": "absent"}, "args": ["-m", "x"]}, "nowhere in the command line"),
        ({"sweep": {"match": "absent"}}, "nowhere in the command line"),
    ],
)
def test_what_cannot_be_meant_is_refused(of: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        quadlet(unit(of=of))

    assert refused.value.hint


@pytest.mark.parametrize(
    "image", ["host/llama:latest", "", "a@sha256:12", f"a\n@sha256:{'1' * 64}"]
)
def test_an_image_that_is_not_pinned_is_refused(image: str) -> None:
    with pytest.raises(Refused, match="DIGEST"):
        quadlet(unit(image=image))


def test_a_secret_is_there_by_its_name_and_version_alone() -> None:
    held = (EnvSecret(name="TOKEN", secret="hf-token", version="3"),)

    text = quadlet(unit(secrets=held))

    assert said(text, "Secret") == ["meshctl-hf-token-3,type=env,target=TOKEN"]
    assert said(text, "Environment") == []


@pytest.mark.parametrize(
    ("weights", "models", "seconds"),
    [
        (0, {}, "600"),
        (80 * 10**9, {}, "1400"),
        (0, {"m": {"load_timeout": "2h"}}, "7200"),
        (80 * 10**9, {"m": {"load_timeout": "1m"}}, "1400"),
    ],
)
def test_a_start_may_take_as_long_as_the_slowest_disk_needs(
    weights: int, models: dict[str, Any], seconds: str
) -> None:
    text = quadlet(unit(weights_bytes=weights, of={"models": models}))

    assert said(text, "TimeoutStartSec") == [seconds]


def test_without_a_health_command_the_unit_does_not_wait_for_one() -> None:
    text = quadlet(unit())

    assert said(text, "Notify") == said(text, "HealthCmd") == []


def test_no_fault_is_the_last_one() -> None:
    text = quadlet(unit())

    assert said(text, "Restart") == ["always"]
    assert said(text, "StartLimitIntervalSec") == ["0"]
