"""A release that cannot boot on its card is refused before anything changes; doubt is only told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from meshctl.budget.tenants import Known
from meshctl.budget.weights import Weights
from meshctl.plan import budget
from meshctl.plan.make import make_canary, make_deploy
from meshctl.plan.request import Request
from meshctl.plan.steps import Plan
from meshctl.spec.model import Fleet
from tests import builders

GIB = 2**30
KEYS = {
    "general.architecture": "llama", "llama.block_count": "32", "llama.embedding_length": "4096",
    "llama.attention.head_count": "32", "llama.attention.head_count_kv": "8",
    "llama.vocab_size": "128256", "llama.context_length": "131072",
}  # fmt: skip
NOT_ASKED = "memory budget"


def fleet(context: int = 8192, **changed: Any) -> Fleet:
    """A mesh of one model on an L4."""
    data = builders.fleet().model_dump(mode="json")
    file = {"bytes": 8 * GIB, "sha256": "1" * 64}
    data["payloads"] = {
        "p": {"source": "gs://bucket/p", "files": {"p.gguf": file}},
        "knot": {"source": "gs://bucket/k", "format": "opaque", "files": {"k.knot": file}},
    }
    data["services"]["chat"] |= {
        "models": {"m": {"payload": "p", "context": context}},
        "resources": {"gpu": "nvidia-l4", "cpu": 4, "memory": 16 * GIB},
        "deliver": "mount",
    } | changed
    for service in data["services"].values():
        service["account"] = None
    return Fleet.model_validate(data)


def weights(gib: float = 8, **keys: str) -> Weights:
    return Weights("gguf", KEYS | keys, round(gib * GIB))


def request(of: Fleet, known: Known | None) -> Request:
    return Request(fleet=of, key="chat", target="local", salt="s", headers=known)


def deploy(known: Known | None, of: Fleet | None = None) -> Plan:
    return make_deploy(request(of or fleet(), known), None)


def notes(plan: Plan) -> list[str]:
    return [note for note in plan.notes if note.startswith("memory: ")]


def test_a_model_that_cannot_fit_is_refused_with_place_numbers_and_the_next_command() -> None:
    plan = deploy({"p": weights()}, fleet(context=131_072))

    (reason,) = plan.refused
    assert plan.steps == ()
    assert reason.message == (
        "m does not fit on L4: weights 8 GiB, caches 16 GiB, overhead at least 188 MiB: 24.2 GiB "
        "of 22.0 GiB"
    )
    assert "`meshctl budget show chat --why`" in reason.hint
    assert "--despite-budget" in reason.hint
    assert reason.place.startswith("meshctl.yaml:")


def test_what_fits_is_planned_without_a_word() -> None:
    plan = deploy({"p": weights()})

    assert (plan.refused, bool(plan.steps), notes(plan)) == ((), True, [])
    assert not [note for note in plan.notes if NOT_ASKED in note]


def test_what_is_tight_is_planned_and_told() -> None:
    plan = deploy({"p": weights(19.5)})

    (note,) = notes(plan)
    assert plan.steps
    assert note.startswith("memory: m is tight on L4: weights 19.5 GiB, caches 1 GiB")


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ("its header could not be read: no answer", "payload p: its header could not be read"),
        (weights(8, **{"general.architecture": "tomorrow"}), "no rule for the architecture"),
    ],
)
def test_what_nobody_can_tell_is_planned_and_told(known: Weights | str, why: str) -> None:
    plan = deploy({"p": known})

    (note,) = notes(plan)
    assert plan.steps
    assert f"unknown: {why}" in note


def test_where_nobody_asked_nothing_is_refused_and_the_plan_says_so() -> None:
    plan = deploy(None, fleet(context=131_072))

    assert plan.refused == ()
    assert [note for note in plan.notes if NOT_ASKED in note]


def test_where_there_is_no_card_there_is_nothing_to_ask_and_nothing_is_said() -> None:
    plan = deploy(None, fleet(resources={"cpu": 8, "memory": "32Gi"}))

    assert plan.steps
    assert not [note for note in plan.notes if NOT_ASKED in note]


def test_a_context_beyond_the_models_own_is_told_by_the_plan_whether_it_fits_or_not() -> None:
    (note,) = notes(deploy({"p": weights(1)}, fleet(context=140_000)))
    (reason,) = deploy({"p": weights(8)}, fleet(context=1_000_000)).refused

    assert "140,000 tokens a request are asked for, and the model was made for 131,072" in note
    assert "1,000,000 tokens a request are asked for" in reason.message


def test_who_adds_a_peer_is_told_of_an_option_that_there_is() -> None:
    asked = replace(request(fleet(context=131_072), {"p": weights()}), announcer="coordinator")

    (reason,) = make_deploy(asked, None).refused

    assert "`meshctl deploy chat --despite-budget` does not ask" in reason.hint


def test_a_canary_is_refused_like_a_deploy() -> None:
    wanted = replace(request(fleet(context=131_072), {"p": weights()}), take_traffic=True)

    plan = make_canary(wanted, builders.seen())

    assert [reason.message[:18] for reason in plan.refused] == ["m does not fit on "]


def test_every_model_that_does_not_fit_is_named_and_those_that_take_turns_are_not() -> None:
    models = {name: {"payload": "p", "context": context}
              for name, context in (("a", 8192), ("b", 131_072), ("c", 131_072))}  # fmt: skip

    plan = deploy({"p": weights()}, fleet(models=models))

    assert [reason.message.split()[0] for reason in plan.refused] == ["b", "c"]


def test_a_flag_that_nobody_knows_is_named_in_the_refusal() -> None:
    command = ["llama-server", "-c", "131072", "--frobnicate", "--port", "{port}"]
    models = {"m": {"payload": "p", "command": command}}

    (reason,) = deploy({"p": weights()}, fleet(models=models)).refused

    assert reason.message.endswith("; not known, and so not counted: --frobnicate")


def test_a_flag_that_loads_something_more_is_told() -> None:
    command = ["llama-server", "-c", "8192", "--lora", "x", "--port", "{port}"]
    models = {"m": {"payload": "p", "command": command}}

    (note,) = notes(deploy({"p": weights()}, fleet(models=models)))

    assert "; --lora loads adapters: that is not counted; " in note


def test_a_plan_without_a_new_release_asks_nothing() -> None:
    of = fleet()
    wanted = request(of, None)
    release = builders.release(of=of)
    env = (*release.template.env, ("MESH_RELEASE", release.id))
    template = release.template.model_copy(update={"env": tuple(sorted(env))})
    seen = builders.seen(builders.revision("v1", release=release.id, template=template))

    plan = make_deploy(wanted, seen)

    assert (plan.steps, budget.must_ask(wanted, plan)) == ((), False)
    assert budget.must_ask(wanted, make_deploy(wanted, None))


@pytest.mark.parametrize(
    "changed",
    [
        {"resources": {"cpu": 4, "memory": 16 * GIB}},
        {"models": {"m": {}}},
        {"models": {"m": {"payload": "knot"}}},
        {"models": {"m": {"payload": "p", "engine": "generic", "command": ["x", "{port}"]}}},
    ],
)
def test_without_a_card_or_a_header_there_is_nothing_to_ask(changed: dict[str, Any]) -> None:
    wanted = request(fleet(**changed), None)

    assert budget.payloads_to_read(wanted) == []
    assert not budget.must_ask(wanted, make_deploy(wanted, None))


def of_host(*, cards: int = 1) -> Request:
    """Two services on one card of a host."""
    data = fleet().model_dump(mode="json")
    gpus = [{"name": "R9700", "memory": 32 * GIB, "count": 1}] if cards else []
    data["targets"]["attic"] = {"kind": "podman", "address": "attic", "gpus": gpus}
    alone = data["services"]["chat"] | {"target": ["attic"], "args": ["-c", "65536"],
                                        "role": "standalone", "resources": {}}  # fmt: skip
    data["services"] |= {"chat": alone, "other": alone}
    return Request(Fleet.model_validate(data), "chat", "attic", "s", headers={"p": weights(14)})


def test_on_a_host_every_service_of_the_card_counts() -> None:
    wanted = of_host()
    acts = [("place", step.act) for step in deploy({"p": weights()}).steps]

    (reason,) = budget.refused(wanted, acts)

    assert budget.payloads_to_read(wanted) == ["p"]
    assert "m does not fit on R9700: weights 14 GiB, caches 8 GiB" in reason.message
    assert ", others 22.2 GiB" in reason.message
    assert "`meshctl budget show chat --on attic --why`" in reason.hint


def test_of_a_host_without_cards_nothing_is_asked() -> None:
    assert budget.payloads_to_read(of_host(cards=0)) == []


def test_equal_requests_give_equal_plans() -> None:
    first, second = (deploy({"p": weights()}, fleet(context=131_072)) for _ in range(2))

    assert first == second


def test_a_release_that_cannot_fit_on_the_card_of_a_host_stops_nothing() -> None:
    unit = f"[Container]\nImage=x/y@sha256:{'1' * 64}\n"

    plan = make_deploy(replace(of_host(), unit=unit), None)

    assert not plan.steps
    assert any("does not fit on R9700" in reason.message for reason in plan.refused)
