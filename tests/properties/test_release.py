"""A release is named by what it is made of: what is written is what is read, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshctl.plan.release import EnvSecret, Mount, StartupProbe, Template, changes, release_of
from meshctl.targets.cloudrun.edits import named_template
from meshctl.targets.cloudrun.template import template_json, template_of
from tests.builders import release, template

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
names = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True).filter(lambda n: n != "MESH_RELEASE")
seconds = st.integers(1, 3600)


@st.composite
def templates(draw: st.DrawFn) -> Template:
    """Every template that meshctl may write."""
    variables = draw(st.dictionaries(names, text, max_size=4))
    secrets = draw(st.dictionaries(names, st.integers(1, 99), max_size=2))
    gpu = draw(st.sampled_from([None, "nvidia-l4"]))
    return Template(
        image=draw(st.sampled_from(["a@sha256:1", "b@sha256:2"])),
        command=tuple(draw(st.lists(text.filter(bool), max_size=2))),
        args=tuple(draw(st.lists(text, max_size=3))),
        env=tuple(sorted((n, v) for n, v in variables.items() if n not in secrets)),
        secrets=tuple(
            EnvSecret(name=n, secret="s", version=str(v)) for n, v in sorted(secrets.items())
        ),
        port=draw(st.integers(1, 65535)),
        cpu=draw(st.sampled_from(["80m", "500m", "1", "1500m", "8"])),
        memory_bytes=draw(st.sampled_from([512 * 2**20, 32 * 2**30, 10**9])),
        gpu=gpu,
        zonal_redundancy=bool(gpu) and draw(st.booleans()),
        concurrency=draw(st.integers(1, 1000)),
        timeout_s=draw(seconds),
        max_instances=draw(st.integers(1, 100)),
        min_instances=draw(st.integers(0, 3)),
        account=draw(st.sampled_from([None, "a@p.iam.gserviceaccount.com"])),
        probe=StartupProbe(
            path=draw(st.sampled_from([None, "/health"])),
            period_s=draw(seconds), timeout_s=draw(seconds), failures=draw(seconds),
        ),
        cpu_idle=draw(st.booleans()),
        cpu_boost=draw(st.booleans()),
        gen2=draw(st.booleans()),
        mounts=tuple(
            Mount(path=f"/m/{name}", bucket="b", folder=draw(st.sampled_from(["", "a/b"])))
            for name in sorted(draw(st.sets(names, max_size=2)))
        ),
    )  # fmt: skip


def as_read(document: Any) -> Any:
    """As proto3 JSON comes back: false, zero and empty values are left out."""
    if isinstance(document, dict):
        kept = {key: as_read(value) for key, value in document.items()}
        return {key: value for key, value in kept.items() if value not in (False, 0, "", [], {})}
    return [as_read(item) for item in document] if isinstance(document, list) else document


@given(templates())
def test_what_is_written_is_what_is_read(wanted: Template) -> None:
    document = template_json(wanted)

    assert template_of(document) == wanted
    assert template_of(as_read(json.loads(json.dumps(document)))) == wanted


@given(templates(), st.sampled_from(["v1", "v2"]))
def test_a_release_keeps_its_id_on_the_platform(wanted: Template, name: str) -> None:
    made = release_of(wanted)

    placed = template_of(as_read(named_template(made, name, "chat.local.20261130T20.s001")))

    assert release_of(placed).id == made.id
    assert placed.environment["MESH_RELEASE"] == made.id


@given(templates(), templates())
def test_two_templates_have_one_id_only_when_they_are_equal(one: Template, other: Template) -> None:
    assert (release_of(one).id == release_of(other).id) == (one == other)
    assert bool(changes(one, other)) == (one != other)


OTHER: dict[str, Any] = {
    "image": "other@sha256:9",
    "command": ("/bin/other",),
    "args": ("mesh", "-v"),
    "env": (("A", "2"), ("B", "")),
    "secrets": (EnvSecret(name="TOKEN", secret="hub", version="4"),),
    "port": 8081,
    "cpu": "4",
    "memory_bytes": 2**30,
    "gpu": None,
    "zonal_redundancy": True,
    "concurrency": 1,
    "timeout_s": 60,
    "max_instances": 2,
    "min_instances": 1,
    "account": None,
    "probe": StartupProbe(path="/health", period_s=10, timeout_s=5, failures=25),
    "mounts": (Mount(path="/models/q", bucket="models", folder="q"),),
    "cpu_idle": True,
    "cpu_boost": False,
    "gen2": False,
    "other": "1234",
    "unit": "[Service]\nExecStart=/usr/bin/engine\n",
}


@pytest.mark.parametrize("field", Template.model_fields)
def test_every_field_is_a_part_of_the_id(field: str) -> None:
    changed = template(**{field: OTHER[field]})

    assert release_of(changed).id != release_of(template()).id
    assert changes(template(), changed)


def test_the_id_leaves_itself_out() -> None:
    carried = template(env=(("A", "1"), ("B", ""), ("MESH_RELEASE", "r123")))

    assert release_of(carried).id == release_of(template()).id


def test_the_id_is_the_same_in_every_process() -> None:
    code = "from tests.builders import release; print(release().id)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == release().id


@pytest.mark.parametrize(
    "strange",
    [
        {"volumes": [{"name": "v"}]},
        {"sessionAffinity": True},
        {"containers": [{}, {"image": "sidecar"}]},
    ],
)
def test_what_a_stranger_added_to_a_template_is_seen(strange: dict[str, Any]) -> None:
    document = template_json(template())

    assert template_of({**document, **strange}) != template()


@pytest.mark.parametrize(
    "strange",
    [
        {"livenessProbe": {"httpGet": {"path": "/"}}},
        {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        {"ports": [{"name": "h2c", "containerPort": 8080}]},
        {"startupProbe": {"httpGet": {"path": "/health"}, "periodSeconds": 10, "timeoutSeconds": 5,
                          "failureThreshold": 24, "initialDelaySeconds": 3}},
    ],
)  # fmt: skip
def test_what_a_stranger_added_to_a_container_is_seen(strange: dict[str, Any]) -> None:
    document = template_json(template())
    document["containers"][0] |= strange

    assert release_of(template_of(document)).id != release_of(template()).id


def test_the_projects_own_account_is_the_same_named_or_not() -> None:
    named = "123-compute@developer.gserviceaccount.com"
    document = template_json(template(account=None)) | {"serviceAccount": named}

    assert template_of(document) == template(account=None)
    assert release("1", account=named).id == release("1").id


def test_arguments_are_told_apart_by_where_they_end() -> None:
    assert changes(template(args=("a b",)), template(args=("a", "b")))
