"""Mounted payloads are read back from the volumes that meshctl writes, and from no others."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.adopted import Draft, Spot, draft, still_differs
from meshctl.plan.observed import Revision
from meshctl.plan.release import EnvSecret, Mount, Template, release_of
from meshctl.plan.wanted import wanted_release
from meshctl.spec.inserted import fleet_text
from meshctl.spec.load import load
from meshctl.spec.model import Fleet
from tests.builders import IMAGE, place, revision, seen, service, template

SPOT = Spot("chat", "local", place(), declared=False)
FILES = {name: {"bytes": 5, "sha256": "a" * 64} for name in ("q.gguf", "v/p.gguf")}
PLACES = {
    "a folder": ("gs://models/qwen", ["q.gguf"], "gs://models/qwen/q.gguf"),
    "the file itself": ("gs://models/a/q.gguf", ["q.gguf"], "gs://models/a/q.gguf"),
    "a folder called like the file": (
        "gs://models/q.gguf/q.gguf", ["q.gguf"], "gs://models/q.gguf/q.gguf"
    ),
    "the whole bucket": ("gs://models/q.gguf", ["q.gguf"], "gs://models/q.gguf"),
    "several files": ("gs://models/a/b", list(FILES), "gs://models/a/b"),
}  # fmt: skip


def fleet(source: str, files: list[str], **changed: Any) -> Fleet:
    payload = {"source": source, "files": {name: FILES[name] for name in files}}
    given = {"deliver": "mount", "role": "standalone", "models": {"m": {"payload": "qwen"}},
             "resources": {"memory": "8Gi", "cpu": 2}}  # fmt: skip
    return Fleet.model_validate(
        {
            "meshctl": 1,
            "fleet": "test",
            "targets": {"local": {"kind": "cloudrun", "project": "local", "region": "local1"}},
            "images": {"mesh": {"ref": IMAGE}},
            "payloads": {"qwen": payload},
            "services": {"chat": service(**given | changed)},
        }
    )


def live(of: Fleet, **changed: Any) -> Revision:
    """The revision that this fleet makes, with these fields of its template written otherwise."""
    made = wanted_release(of, of.services["chat"], place(of), IMAGE).template
    made = made.model_copy(update=changed)
    return revision("v1", release=release_of(made).id, template=made)


def adopted(main: Revision, known: Fleet | None = None) -> Draft:
    return draft(SPOT, seen(main), main, "", known)


@pytest.mark.parametrize("env", [{}, {"MESH_MODELS_DIR": "/data"}])
@pytest.mark.parametrize("where", PLACES)
def test_what_meshctl_mounts_comes_back_as_the_same_release(
    where: str, env: dict[str, str]
) -> None:
    source, files, written = PLACES[where]
    main = live(fleet(source, files, env=env))

    made = adopted(main)
    again = load(fleet_text("chat", made.sections), "f.yaml", {})

    assert made.problems == ()
    assert still_differs(again, SPOT, seen(main), main, None) == ()
    assert (again.services["chat"].deliver, again.services["chat"].env) == ("mount", env)
    assert again.payloads["qwen"].source == written
    assert not any("image:" in note for note in made.notes)


QWEN = Mount(path="/models/qwen", bucket="models", folder="a")
STRANGE: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "a mount of no payload": (
        ["q.gguf"], {"mounts": (QWEN, Mount(path="/data", bucket="b", folder="c"))},
        "mounts./data (gs://b/c): no payload of MESH_MODELS"
    ),
    "a payload that is not mounted": (
        ["q.gguf"], {"mounts": (Mount(path="/data", bucket="b", folder=""),)},
        "payloads.qwen is not mounted, and others are"
    ),
    "several files in a bucket": (
        list(FILES), {"mounts": (QWEN.model_copy(update={"folder": ""}),)},
        "mounts./models/qwen (gs://models/): several files need a folder of their own"
    ),
    "no registry": (
        ["q.gguf"], {"env": (), "mounts": (QWEN,)},
        "mounts./models/qwen (gs://models/a): no payload of MESH_MODELS"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
def test_a_mount_that_no_key_says_is_named(what: str) -> None:
    files, changed, told = STRANGE[what]

    assert told in adopted(live(fleet("gs://models/a", files), **changed)).problems


def test_a_fleet_that_has_the_payload_elsewhere_is_not_believed() -> None:
    main = live(fleet("gs://models/a", ["q.gguf"]))
    problems = {
        source: adopted(main, fleet(source, ["q.gguf"])).problems
        for source in ("gs://models/a", "gs://models/b", "r2://models/a")
    }

    assert problems == {
        "gs://models/a": (),
        "gs://models/b": (
            "payloads.qwen: the fleet has it at gs://models/b, not at gs://models/a/q.gguf",
        ),
        "r2://models/a": (
            "payloads.qwen: the fleet has it at r2://models/a, not at gs://models/a/q.gguf",
        ),
    }


def test_a_secret_that_follows_the_latest_version_goes_on_doing_so_and_is_told() -> None:
    following: Template = template(secrets=(EnvSecret(name="T", secret="hub", version="latest"),))
    main = revision("v1", release=release_of(following).id, template=following)

    made = adopted(main)
    again = load(fleet_text("chat", made.sections), "f.yaml", {})

    assert made.sections["services"]["chat"]["env"]["T"] == {
        "secret": "hub", "version": "latest", "allow_latest": True
    }  # fmt: skip
    assert [note for note in made.notes if "a rollback would not bring the old value back" in note]
    assert again.services["chat"].env["T"].model_dump()["allow_latest"] is True
