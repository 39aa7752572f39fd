"""A live service written down is the same release again, whatever stands in it."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.plan.adopted import Spot, draft, still_differs
from meshctl.plan.entries import free_name
from meshctl.plan.observed import Revision, ServiceScaling, ServiceSeen
from meshctl.plan.release import EnvSecret, StartupProbe, Template, release_of
from meshctl.spec.inserted import fleet_text
from meshctl.spec.load import load
from meshctl.spec.model import Fleet
from tests import builders

ACCOUNT = "runner@p.iam.gserviceaccount.com"
SPOT = Spot("chat", "local", builders.place(), declared=False)


def live(**changed: Any) -> tuple[ServiceSeen, Revision]:
    """A service of one revision with this template, as a stranger wrote it."""
    template = builders.template(**{"cpu": "4", "memory_bytes": 16 * 2**30, **changed})
    made = builders.revision("v1", release=release_of(template).id, template=template)
    return builders.seen(made), made


def written(seen: ServiceSeen, main: Revision, account: str = ACCOUNT) -> Fleet:
    made = draft(SPOT, seen, main, account, None)
    assert made.problems == ()
    return load(fleet_text("chat", made.sections), "meshctl.yaml", {"b": "WRONG"})


PLAIN = StartupProbe(path=None, period_s=240, timeout_s=240, failures=1)
SHAPES: dict[str, dict[str, Any]] = {
    "as meshctl writes it": {},
    "odd values": {"env": (("A", "yes"), ("B", "1.10"), ("C", "${b}"), ("D", "x: y\n- z"))},
    "no words": {"env": (("A", ""), ("B", "null"), ("C", "~"), ("D", " 22:22 "))},
    "secrets": {"secrets": (EnvSecret(name="T", secret="projects/1/secrets/x", version="7"),)},
    "the server's own probe": {"probe": PLAIN, "gpu": None},
    "another port": {"port": 9000, "args": ("-m", "/models/m.gguf", "--temp", "0.7")},
    "half a processor": {"cpu": "500m", "memory_bytes": 256 * 2**20, "gpu": None, "gen2": False,
                         "concurrency": 1, "cpu_idle": True, "cpu_boost": False},
    "the platform's choice": {"gen2": None, "gpu": None, "max_instances": 100},
    "redundancy": {"zonal_redundancy": True},
    "a minimum in the template": {"min_instances": 1},
    "no account": {"account": None},
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_written_is_the_same_release(shape: str) -> None:
    seen, main = live(**SHAPES[shape])

    fleet = written(seen, main, ACCOUNT if main.template.account else "")

    assert still_differs(fleet, SPOT, seen, main, None) == ()


UNSAYABLE: dict[str, tuple[dict[str, Any], str]] = {
    "something strange": ({"other": "0123456789abcdef"}, "platform.other"),
    "a minimum at both levels": ({"min_instances": 1}, "scaling.min_per_revision"),
}


@pytest.mark.parametrize("shape", UNSAYABLE)
def test_what_no_key_says_is_a_difference_and_no_surprise(shape: str) -> None:
    changed, path = UNSAYABLE[shape]
    seen, main = live(**changed)
    seen = seen.model_copy(update={"scaling": ServiceScaling(min=1)})

    left = still_differs(written(seen, main), SPOT, seen, main, None)

    assert path in {change.path for change in left}


def test_a_registry_comes_back_with_its_payloads_as_the_image_holds_them() -> None:
    fleet = builders.fleet()
    release = builders.release(of=fleet)
    main = builders.revision("v1", release=release.id, template=release.template)

    made = draft(SPOT, builders.seen(main), main, "", None)

    assert made.sections["services"]["chat"]["models"] == {"m": {}}
    assert "MESH_MODELS" not in made.sections["services"]["chat"]["env"]


def test_an_image_the_fleet_has_is_not_declared_twice() -> None:
    seen, main = live(image=builders.IMAGE)

    made = draft(SPOT, seen, main, ACCOUNT, builders.fleet())

    assert "images" not in made.sections
    assert made.sections["services"]["chat"]["image"] == "mesh"


def test_a_payload_of_the_same_name_with_other_files_is_a_problem() -> None:
    digest = "4" * 64
    text = (
        '[{"default":true,"files":[{"bytes":5,"path":"m.gguf","sha256":"'
        + digest
        + '"}],"id":"m","payload":"p"}]'
    )
    seen, main = live(env=(("MESH_DEFAULT_MODEL", "m"), ("MESH_MODELS", text)))
    fleet = builders.fleet()
    other = {"p": {"source": "file:p", "files": {"m.gguf": {"bytes": 6, "sha256": digest}}}}
    with_payload = Fleet.model_validate({**fleet.model_dump(), "payloads": other})

    assert draft(SPOT, seen, main, ACCOUNT, with_payload).problems == (
        "payloads.p: the fleet has other files",
    )
    assert draft(SPOT, seen, main, ACCOUNT, None).problems == ()


def test_a_plain_secret_is_told_without_its_value() -> None:
    seen, main = live(env=(("HF_TOKEN", "hf_verysecret"),))

    notes = draft(SPOT, seen, main, ACCOUNT, None).notes

    assert any("HF_TOKEN" in note for note in notes)
    assert not any("hf_verysecret" in note for note in notes)


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_name("a", {}) == "a"
    assert free_name("a", {"a": 1, "a-2": 1}) == "a-3"


def template_fields() -> set[str]:
    return set(Template.model_fields)


def test_every_field_of_a_template_is_written_or_held_against_it() -> None:
    """Whoever adds a field to Template has to think of adoption: this test lists them."""
    assert template_fields() == {
        "image", "command", "args", "env", "secrets", "port", "cpu", "memory_bytes", "gpu",
        "zonal_redundancy", "concurrency", "timeout_s", "max_instances", "min_instances", "account",
        "probe", "cpu_idle", "cpu_boost", "gen2", "other", "mounts", "unit",
    }  # fmt: skip
