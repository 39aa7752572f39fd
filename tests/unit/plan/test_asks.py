"""What a release is asked is read from itself; a release that cannot be read never passes."""

from __future__ import annotations

import json

import pytest

from meshctl.plan.asks import asks_of, models_asked
from meshctl.plan.observed import Revision
from meshctl.plan.release import EnvSecret, Template, release_of
from meshctl.plan.steps import CheckRelease, ModelAsked
from meshctl.rollout.hands import ask, silent
from meshctl.spec.model import Rollout
from tests import builders
from tests.fakes.fake_clock import FakeClock
from tests.fakes.fake_target import FakeEngines, FakeService, FakeTarget

TINY = {"id": "m", "aliases": ["chat"], "default": True}
UNREADABLE = (
    "{not json",
    "{}",
    "null",
    '"m"',
    '["m"]',
    '[{"name": "m"}]',
    '[{"id": 7}]',
    '[{"id": "m"}, {"id": "two words"}]',
    '[{"id": "\\ud800"}]',
    "[" * 100_000,
)
OF_A_STRANGER = (
    json.dumps([TINY | {"of_a_later_meshctl": 1}]),
    json.dumps([TINY | {"context": "much"}]),
    json.dumps([TINY, {"id": "m", "default": True}]),
)


def carrying(text: str) -> Template:
    return builders.template(env=(("MESH_MODELS", text),), secrets=())


@pytest.mark.parametrize("text", ["", "  ", "[]"])
def test_a_release_without_models_is_asked_without_names(text: str) -> None:
    asks = asks_of(carrying(text), ("contract",), Rollout())

    assert (asks.models, asks.unreadable) == ((), False)


@pytest.mark.parametrize("text", OF_A_STRANGER)
def test_names_are_taken_from_entries_that_are_odd_otherwise(text: str) -> None:
    first = (models_asked(carrying(text)) or ())[0]

    assert first == ModelAsked(id="m", aliases=("chat",), default=True)


def test_aliases_and_defaults_of_the_wrong_type_are_not_taken() -> None:
    odd = json.dumps([{"id": "a", "aliases": "xy", "default": 1}, {"id": "b", "aliases": [1, "z"]}])

    found = models_asked(carrying(odd))

    assert found == (ModelAsked(id="a"), ModelAsked(id="b", aliases=("z",)))


@pytest.mark.parametrize("text", UNREADABLE)
def test_unreadable_is_not_none(text: str) -> None:
    asks = asks_of(carrying(text), ("contract",), Rollout())

    assert asks.unreadable


def test_a_registry_in_a_secret_is_unreadable() -> None:
    secret = EnvSecret(name="MESH_MODELS", secret="models", version="1")

    assert models_asked(builders.template(env=(), secrets=(secret,))) is None


@pytest.mark.parametrize("text", UNREADABLE + OF_A_STRANGER)
def test_a_wedged_engine_behind_an_odd_registry_never_passes(text: str) -> None:
    template = carrying(text)
    release = release_of(template)
    cloud = FakeTarget()
    cloud.behave[release.id] = "wedged"
    placed = Revision(name="v1", release=release.id, template=template, ready=True, failed=False)
    cloud.services["chat"] = FakeService({"v1": 100}, [placed], public=True)
    check = CheckRelease(
        where="public", revision="v1", tag=None, release=release.id, identity=False,
        asks=asks_of(template, ("contract",), Rollout()),
    )  # fmt: skip

    verdict = ask(cloud, "chat", check, FakeEngines(cloud), FakeClock(), silent)

    assert verdict.verdict == ("unclear" if check.asks.unreadable else "fail")
    if check.asks.unreadable:
        assert verdict.why == "model-listed: the release's MESH_MODELS cannot be read"
