"""What counts as speaking of a file, and what does not."""

from __future__ import annotations

import pytest

from meshctl.payloads.references import Found, References, Sought, Text, Unsearched, references_to
from meshctl.payloads.uses import said_in, uses_of
from meshctl.spec.model import Fleet

SOUGHT = Sought("frank/old model.gguf")
PART = Sought("big/x-00002-of-00003.gguf")


def where(text: str, sought: Sought = SOUGHT) -> list[str]:
    return [found.where for found in references_to([sought], [Text("here", text)])]


@pytest.mark.parametrize(
    "text",
    [
        "/srv/models/frank/old model.gguf",
        "ExecStart=/bin/llama-server -m '/models/old model.gguf' -c 4096",
        "-m /models/old\\ model.gguf",
        "-m /models/old\\x20model.gguf",
        "MODEL=${MODEL:-old model.gguf}",
        "MODEL=${MODEL-old model.gguf}",
        'MODEL_DIR="${MODEL_DIR:-/srv/models/frank}"',
        "MODEL_DIR=frank",
        "MODEL_DIR=frank/",
        "# unless the env file says so: old model.gguf",
    ],
)
def test_a_text_that_names_a_file_or_its_folder_is_a_reference(text: str) -> None:
    assert where(text) == ["here"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/models/old model.gguf.bak",
        "/models/very-old model.gguf",
        "/models/old model.ggufx",
        "/models/frankly/new.gguf",
        "/models/old-frank/new.gguf",
        "frank.service",
    ],
)
def test_a_longer_name_is_another_one(text: str) -> None:
    assert where(text) == []


def test_whoever_loads_the_first_part_loads_all_of_them() -> None:
    assert where("-m /models/x-00001-of-00003.gguf", PART) == ["here"]
    assert where("-m /models/x-00001-of-00004.gguf", PART) == []


def test_a_reference_shows_its_line_and_nothing_that_may_be_secret() -> None:
    texts = [
        Text("unit", "[Service]\nExecStart=serve frank\n"),
        Text("env", "API_KEY=canary frank"),
        Text("process", "canary frank", quiet=True),
    ]
    found = references_to([SOUGHT], texts)

    assert [one.said for one in found] == ["ExecStart=serve frank", "frank", "frank"]
    assert found[0] == Found("frank/old model.gguf", "unit", "ExecStart=serve frank")


def test_references_of_several_callers_add_up() -> None:
    both = References((Text("a", ""),)) + References(unsearched=(Unsearched("b", "why"),))

    assert (len(both.texts), len(both.unsearched)) == (1, 1)


FLEET = Fleet.model_validate(
    {
        "meshctl": 1,
        "fleet": "home",
        "targets": {"attic": {"kind": "podman", "address": "ops@attic"}},
        "images": {
            "llama": {"ref": f"host/llama@sha256:{'1' * 64}"},
            "baked": {"repository": "host/baked", "tag": "v{n}",
                      "build": {"config": "c", "context": ".", "include": {"m": "payload:old"}}},
        },
        "payloads": {
            name: {"source": f"file:{name}", "files": {"m.gguf": {"bytes": 1, "sha256": "2" * 64}}}
            for name in ("small", "old", "idle")
        },
        "services": {
            "small": {
                "target": "attic", "image": "llama", "args": ["-m", "/models/m.gguf"],
                "mounts": {"/models": "payload:small", "/old": "/srv/frank"},
                "models": {"small": {"payload": "small", "env": {"DRAFT": "d.gguf"}}},
                "env": {"FALLBACK": "${X:-frank}", "KEY": {"secret": "frank", "version": "1"}},
            }
        },
    }
)  # fmt: skip


def test_a_fleet_uses_a_payload_by_models_mounts_and_builds() -> None:
    assert uses_of(FLEET, "small") == (
        "services.small.models.small", "services.small.mounts./models",
    )  # fmt: skip
    assert uses_of(FLEET, "old") == ("images.baked.build.include.m",)
    assert uses_of(FLEET, "idle") == ()


def test_every_text_of_a_fleet_is_searched_and_its_hosts_are_not() -> None:
    said = said_in(FLEET)

    found = references_to([SOUGHT], said.texts)
    assert [one.where for one in found] == [
        "services.small.mounts./old", "services.small.env.FALLBACK",
    ]  # fmt: skip
    assert references_to([Sought("d.gguf")], said.texts)[0].where.endswith("small.env.DRAFT")
    assert [one.where for one in said.unsearched] == ["targets.attic"]
