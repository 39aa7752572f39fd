"""A model on a card: alone, with flags that make it unsure, beside others, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from meshctl.budget.answer import Answer, Question, answer, parts_of
from meshctl.budget.beside import need_of, neighbours_on
from meshctl.budget.budget import Budget
from meshctl.budget.card import Card, card_of_gpu
from meshctl.budget.on_card import Wanted, budget_on
from meshctl.budget.settings import Neighbour
from meshctl.budget.tenants import Tenant, tenants_of
from meshctl.budget.ways import CLOUD_RUN
from meshctl.spec.model import Fleet
from tests.unit.budget.known_models import GIB, HALO, KEYS_27B, L4, gguf, safetensors, tenant


def asked(of: Tenant, card: Card = L4, **question: Any) -> Answer:
    return answer("subject", [of], card, question=Question(**question))


def lines(budget: Budget) -> dict[str, Any]:
    return {line.name: line.value for line in budget.why}


def test_the_home_fleets_large_model_keeps_64_kib_a_token_and_40_gib_in_all() -> None:
    found = asked(tenant(gguf(16.35, KEYS_27B)), HALO, context=163_840, sequences=4).budget

    assert found.kv_bytes_per_token == 64 * 1024
    assert found.pool_bytes == 40 * GIB
    assert found.state_bytes_per_sequence == round(149.625 * 2**20)
    assert (found.verdict, found.binds) == ("fits", None)


def test_flags_card_and_header_are_put_together_and_each_number_says_where_from() -> None:
    found = asked(tenant(gguf(8), "-c", "32768", "-np", "4", "-ctk", "q8_0")).budget
    told = {line.name: (line.source, line.text) for line in found.why}

    assert (found.verdict, found.usable_bytes) == ("fits", L4.usable_bytes)
    assert told["context"] == ("config", "`-c 32768`")
    assert told["device_bytes"] == ("measured", "L4: engines' logs")
    assert told["weights_bytes"][0] == "header"


@pytest.mark.parametrize(
    ("argv", "verdict", "binds"),
    [
        (["-c", "524288"], "no", "device_bytes"),
        (["-c", "524288", "--cpu-moe"], "unknown", "args"),
        (["-c", "524288", "--frobnicate"], "no", "device_bytes"),
        (["-c", "8192"], "fits", None),
        (["-c", "8192", "--lora", "x"], "tight", "args"),
        (["-c", "8192", "-ctk", "q9"], "unknown", "args"),
        (["-c", "8192", "-np", "0"], "unknown", "sequences"),
    ],
)
def test_a_flag_that_makes_the_need_unsure_makes_the_verdict_unsure(
    argv: list[str], verdict: str, binds: str | None
) -> None:
    found = asked(tenant(gguf(8), *argv)).budget

    assert (found.verdict, found.binds) == (verdict, binds)


def test_a_flag_that_nobody_knows_is_named() -> None:
    found = asked(tenant(gguf(8), "-c", "8192", "--frobnicate", "3")).budget

    assert lines(found)["unread"] == "--frobnicate"


def test_a_context_that_the_engine_would_shorten_is_no_refusal_until_somebody_writes_it() -> None:
    unwritten, written = tenant(gguf(14)), tenant(gguf(14), "-c", "131072")

    assert (asked(unwritten).budget.verdict, asked(unwritten).budget.binds) == (
        "unknown",
        "context",
    )
    assert asked(written).budget.verdict == "no"
    assert asked(unwritten, context=131_072).budget.verdict == "no"


def test_more_devices_than_there_are_is_a_no() -> None:
    found = asked(tenant(safetensors(16), "-tp", "4"), card_of_gpu("R9700x2")).budget

    assert (found.verdict, found.binds) == ("no", "tp")
    assert found.why[-1].text == "4 devices are wanted, and there are 2 of R9700"


def test_without_a_header_or_with_an_engine_of_its_own_nothing_is_guessed() -> None:
    unread = Tenant("m", "llama-server", why="payload p: its header could not be read")
    strange = Tenant("m", "generic", weights=gguf(1), why="what generic keeps is not known")

    assert [asked(one).budget.binds for one in (unread, strange)] == ["payload", "engine"]
    assert asked(unread).budget.why[-1].text == "payload p: its header could not be read"
    assert asked(unread).contexts == asked(unread).relief.ways == ()


def test_two_devices_share_the_weights_and_the_layers_of_a_gguf() -> None:
    one, two = (asked(tenant(gguf(20)), card_of_gpu(name), context=4096).budget
                for name in ("R9700", "R9700x2"))  # fmt: skip

    assert (two.pool_bytes or 0) * 2 == one.pool_bytes
    assert lines(two)["tp"] == 2


# -- what to give up ---------------------------------------------------------------------------


TOO_LONG = ("-c", "262144", "-np", "4")
"""32 GiB of f16 beside 8 GiB of weights, on 22."""


def test_what_users_hardly_notice_is_offered_first_and_money_last() -> None:
    found = answer("s", [tenant(gguf(8), *TOO_LONG)], L4, cloud=True)

    assert [way.write for way in found.relief.ways] == [
        "-ctk q8_0 -ctv q8_0 -fa on",
        "-ub 128",
        "-np 1 -c 65536",
        "-c 94208",
        "-ctk q4_0 -ctv q4_0 -fa on",
    ]
    assert found.relief.card == "RTX-PRO-6000"
    assert found.relief.card in CLOUD_RUN


@pytest.mark.parametrize("engine", ["llama", "vllm"])
def test_each_way_alone_brings_what_it_promises(engine: str) -> None:
    flags = TOO_LONG if engine == "llama" else ("--max-model-len", "65536", "--max-num-seqs", "4")
    of = tenant(gguf(8) if engine == "llama" else safetensors(10), *flags)
    found = asked(of)

    assert found.budget.verdict in ("no", "tight")
    assert found.relief.ways
    for way in found.relief.ways:
        changed = budget_on(of, L4, (), Wanted(way.changes))
        assert changed.verdict == way.verdict, way.write


def test_what_is_freed_is_the_difference_on_the_card() -> None:
    found = asked(tenant(gguf(8), *TOO_LONG))

    q8 = found.relief.ways[0]
    assert q8.frees_bytes == 32 * GIB * 15 // 32


def test_where_none_is_enough_alone_the_first_few_together_are_tried() -> None:
    found = asked(tenant(gguf(16), "-c", "131072", "-np", "4", "-fa", "on"))

    assert "fits" not in [way.verdict for way in found.relief.ways[:2]]
    if found.relief.together:
        changes: dict[str, Any] = {}
        for way in found.relief.together:
            changes |= way.changes
        assert budget_on(found.part.tenant, L4, (), Wanted(changes)).verdict == "fits"


def test_how_light_weights_must_be_is_found_by_trying() -> None:
    of = tenant(gguf(30), "-c", "8192", "-np", "1")
    light = asked(of).relief.lighter_bytes
    assert light is not None

    fits, too_heavy = (
        budget_on(of, L4, (), Wanted({"weights_bytes": size})).verdict
        for size in (light, light + 2**25)
    )

    assert (fits, too_heavy) == ("fits", "tight")


def test_what_fits_is_asked_to_give_up_nothing() -> None:
    found = asked(tenant(gguf(4), "-c", "8192"))

    assert found.budget.verdict == "fits"
    assert (found.relief.ways, found.relief.card, found.relief.lighter_bytes) == ((), None, None)


# -- how long a context could be ---------------------------------------------------------------


@pytest.mark.parametrize("of", [tenant(gguf(8), "-c", "8192", "-np", "6"),
                                tenant(safetensors(10), "--max-num-seqs", "6")])  # fmt: skip
def test_the_longest_context_passes_and_the_next_step_does_not(of: Tenant) -> None:
    found = asked(of)

    assert [row.sequences for row in found.contexts] == [1, 2, 4, 6]
    for row in found.contexts[1:]:
        assert row.fits is not None
        assert asked(of, context=row.fits, sequences=row.sequences).budget.verdict == "fits"
        longer = asked(of, context=row.fits + 256, sequences=row.sequences).budget
        assert row.whole or longer.verdict != "fits"


def test_no_context_is_longer_than_the_model_goes() -> None:
    found = asked(tenant(gguf(1), "-c", "1024", "-np", "1"))

    assert [(row.fits, row.whole) for row in found.contexts] == [(131_072, True)]


def test_where_weights_alone_are_too_heavy_no_context_helps() -> None:
    found = asked(tenant(gguf(30), "-c", "1024", "-np", "1"))

    assert [(row.fits, row.tight) for row in found.contexts] == [(None, None)]


# -- who else is there -------------------------------------------------------------------------


def models(**more: Mapping[str, Any]) -> list[Tenant]:
    """Models of 12 GiB on a card of 22."""
    return [tenant(gguf(12), "-c", "4096", "-np", "1", name=name, **keys)
            for name, keys in more.items()]  # fmt: skip


def verdicts(tenants: list[Tenant], card: Card = L4) -> list[str]:
    return [part.budget.verdict for part in parts_of(tenants, card)]


def test_models_of_one_group_take_turns_and_others_are_there_at_the_same_time() -> None:
    turns = models(a={"group": "gpu"}, b={"group": "gpu"})
    apart = models(a={"group": "one"}, b={"group": "two"})

    assert verdicts(turns) == ["fits", "fits"]
    assert verdicts(apart) == ["no", "no"]


def test_a_pinned_model_and_the_others_of_a_set_are_always_beside_one() -> None:
    pinned = models(a={"group": "gpu"}, b={"group": "gpu", "pinned": True})
    mates = models(a={"sets": frozenset({"s"})}, b={"sets": frozenset({"s"})})
    strangers = models(a={"sets": frozenset({"s"})}, b={"sets": frozenset({"t"})})

    assert verdicts(pinned) == ["no", "no"]
    assert verdicts(mates) == ["no", "no"]
    assert verdicts(strangers) == ["fits", "fits"]


def test_a_neighbour_of_whom_nobody_knows_how_large_it_grows_leaves_nothing_sure() -> None:
    beside = Neighbour("other", GIB, None, "its files at least")

    found = answer("s", [tenant(gguf(8), "-c", "8192")], L4, [beside]).budget
    full = answer("s", [tenant(gguf(8), "-c", "524288")], L4, [beside]).budget

    assert (found.verdict, found.binds) == ("unknown", "neighbours")
    assert (full.verdict, full.binds) == ("no", "device_bytes")


def test_vllm_does_not_start_where_less_is_free_than_its_share() -> None:
    beside = Neighbour("other", 4 * GIB, 5 * GIB, "all it keeps")

    of = tenant(safetensors(8), "--max-model-len", "4096")
    alone, crowded = (answer("s", [of], L4, others).budget for others in ([], [beside]))

    assert alone.verdict == "fits"
    assert (crowded.verdict, crowded.binds) == ("no", "utilisation")
    modest = tenant(safetensors(8), "--max-model-len", "4096", "--gpu-memory-utilization", "0.7")
    assert answer("s", [modest], L4, [beside]).budget.verdict in ("fits", "tight")


def test_what_is_reserved_of_a_card_is_not_there() -> None:
    of = tenant(gguf(8), "-c", "8192")
    free, kept = (
        asked(of, Card("X", 1, 12 * GIB, "config", "test", reserved_bytes=reserved)).budget
        for reserved in (0, 2 * GIB)
    )

    assert (free.margin_bytes or 0) - (kept.margin_bytes or 0) == 2 * GIB
    assert (free.verdict, kept.verdict) == ("fits", "tight")


def host(*keys: str, count: int = 1, **args: list[str]) -> Fleet:
    """Services of one model each on the cards of one host."""
    services = {
        key: {"target": "attic", "image": "i", "args": args.get(key, ["-c", "4096"]),
              "models": {key: {"payload": key}}}
        for key in keys
    }  # fmt: skip
    file = {"bytes": 12 * GIB, "sha256": "1" * 64}
    return Fleet.model_validate(
        {
            "meshctl": 1, "fleet": "test",
            "targets": {"attic": {"kind": "podman", "address": "attic",
                                  "gpus": [{"name": "L4", "memory": "22GiB", "count": count}]}},
            "images": {"i": {"ref": f"host/i@sha256:{'1' * 64}"}},
            "payloads": {key: {"source": "file:.", "files": {f"{key}.gguf": file}}
                         for key in keys},
            "services": services,
        }
    )  # fmt: skip


def beside(fleet: Fleet, key: str, card: Card, **known: Any) -> list[Neighbour]:
    own = tenants_of(fleet, key, known)
    return neighbours_on(fleet, "attic", card, known, own, {key})


SHARED = Card("L4", 1, 22 * GIB, "config", "`gpus:`", shared=True)


def test_every_other_service_of_a_host_counts_on_its_card() -> None:
    fleet = host("a", "b")

    (found,) = beside(fleet, "a", SHARED, a=gguf(8), b=gguf(12))

    assert found.name == "b"
    assert found.high is not None
    assert 12 * GIB < found.low < found.high < 16 * GIB


def test_a_neighbour_whose_header_was_not_read_takes_its_files_at_least() -> None:
    (found,) = beside(host("a", "b"), "a", SHARED, a=gguf(8))

    assert (found.low, found.high) == (12 * GIB, None)


def test_nobody_is_beside_an_instance_of_cloud_run() -> None:
    assert beside(host("a", "b"), "a", L4, a=gguf(8), b=gguf(12)) == []


def test_services_that_can_have_cards_of_their_own_do_not_count_against_each_other() -> None:
    flags = ["--max-model-len", "4096", "-tp", "1"]
    fleet = host("a", "b", count=2, a=flags, b=flags)
    as_vllm = fleet.model_dump()
    for key in ("a", "b"):
        as_vllm["services"][key]["models"][key]["engine"] = "vllm"
    both = Fleet.model_validate(as_vllm)
    two = Card("L4", 2, 22 * GIB, "config", "`gpus:`", shared=True)

    assert beside(both, "a", two, a=safetensors(8), b=safetensors(8)) == []
    assert len(beside(both, "a", SHARED, a=safetensors(8), b=safetensors(8))) == 1


# -- how flags reach an engine -----------------------------------------------------------------


def of_mesh(**model: Any) -> Tenant:
    fleet = Fleet.model_validate(
        {
            "meshctl": 1, "fleet": "test",
            "targets": {"gcp": {"kind": "cloudrun", "project": "project", "region": "here"}},
            "images": {"i": {"ref": f"host/i@sha256:{'1' * 64}"}},
            "payloads": {"p": {"source": "file:.", "files": {
                "p.gguf": {"bytes": 8 * GIB, "sha256": "1" * 64},
                "mmproj-p.gguf": {"bytes": GIB, "sha256": "2" * 64}}}},
            "services": {"chat": {"target": "gcp", "image": "i", "args": ["mesh"],
                                  "models": {"m": {"payload": "p", **model}}}},
        }
    )  # fmt: skip
    (found,) = tenants_of(fleet, "chat", {"p": gguf(8)})
    return found


def test_the_mesh_gives_each_request_the_context_that_is_declared() -> None:
    assert of_mesh(context=8192, parallel=3).asked.settings == {
        "context": str(3 * 8192),
        "sequences": "3",
    }


def test_a_command_of_its_own_is_read_with_its_places_filled() -> None:
    command = ["llama-server", "-m", "{file}", "-c", "{context}", "-np", "{parallel}", "-ub", "64",
               "--port", "{port}"]  # fmt: skip

    found = of_mesh(context=4096, parallel=2, command=command)

    assert found.asked.settings == {"context": "4096", "sequences": "2", "ubatch": "64"}


def test_a_projector_that_the_mesh_hands_over_lies_on_the_card_too() -> None:
    found = budget_on(of_mesh(context=4096), L4)

    assert found.weights_bytes == 9 * GIB


def test_kept_prompts_are_no_need_but_a_limit_that_must_find_room_where_memory_is_shared() -> None:
    few = Card("Strix-Halo", 1, 16 * GIB, "config", "`gpus:`", unified=True)
    flags = ("-c", "8192", "-np", "1")

    kept, limited, apart = (
        answer("s", [tenant(gguf(8), *flags, *more)], card)
        for more, card in (((), few), (("-cram", "0"), few), ((), L4))
    )

    assert (kept.budget.verdict, kept.budget.binds) == ("tight", "cache_ram")
    assert (limited.budget.verdict, apart.budget.verdict) == ("fits", "fits")
    assert kept.budget.margin_bytes == limited.budget.margin_bytes
    assert lines(kept.budget)["prompts"] == 8 * GIB
    assert "prompts" not in {*lines(limited.budget), *lines(apart.budget)}
    assert "host" not in lines(apart.budget)
    assert kept.relief.lighter_bytes is kept.relief.card is None


@pytest.mark.parametrize("gib", [9.5, 12, 16])
def test_the_prompts_that_find_room_are_offered_first_and_they_do(gib: float) -> None:
    card = Card("memory", 1, round(gib * GIB), "config", "an instance", unified=True, host=True)
    found = answer("s", [tenant(gguf(8), "-c", "2048", "-np", "1")], card)

    first = found.relief.ways[0]

    assert first.write == f"--cache-ram {first.changes['cache_ram_mib']}"
    assert first.frees_bytes == 0, "nothing of it is taken yet"
    assert (first.verdict == "fits") == (found.budget.binds == "cache_ram") == (gib > 10)
    assert len(found.relief.ways) == 1 or gib < 10


def test_the_prompts_of_a_neighbour_need_room_too_and_are_none_of_its_need() -> None:
    card = Card("Strix-Halo", 1, 16 * GIB, "config", "`gpus:`", unified=True, shared=True)
    of, flags = gguf(4), ("-c", "2048", "-np", "1")
    quiet, greedy = (need_of(tenant(of, *flags, *more), card) for more in (("-cram", "0"), ()))

    mine = tenant(of, *flags, "-cram", "0")
    beside = [answer("s", [mine], card, [one]).budget for one in (quiet, greedy)]

    assert (quiet.high, quiet.prompts, greedy.prompts) == (greedy.high, 0, 8 * GIB)
    assert [one.verdict for one in beside] == ["fits", "tight"]
    assert beside[0].others_bytes == beside[1].others_bytes


# -- longer than the model ---------------------------------------------------------------------


@pytest.mark.parametrize("flag", [(), ("-c", "300000", "-np", "1")])
def test_a_context_beyond_the_models_own_is_said_and_the_models_own_is_offered(
    flag: tuple[str, ...],
) -> None:
    of = tenant(gguf(4, KEYS_27B), *flag)
    found = answer("s", [of], HALO, question=Question() if flag else Question(300_000, 1))

    assert (found.budget.verdict, found.budget.binds) == ("tight", "context")
    assert lines(found.budget)["beyond"] == 262_144
    assert [(way.write, way.verdict) for way in found.relief.ways] == [("-c 262144", "fits")]
    assert [(row.fits, row.whole) for row in found.contexts] == [(262_144, True)]


def test_slots_that_share_a_context_each_get_less_than_the_model_and_nothing_is_said() -> None:
    found = asked(tenant(gguf(4, KEYS_27B), "-c", "524288", "-np", "4"), HALO).budget

    assert "beyond" not in lines(found)
    assert found.verdict == "fits"


def test_a_model_that_does_not_say_its_longest_is_never_called_at_its_end() -> None:
    keys = {key: value for key, value in KEYS_27B.items() if not key.endswith("context_length")}
    found = asked(tenant(gguf(1, keys)), HALO, context=300_000, sequences=1)

    assert found.budget.verdict == "fits"
    assert [row.whole for row in found.contexts] == [False]


@pytest.mark.parametrize(("rope", "verdict"), [(None, "tight"), ({"factor": "4"}, "fits")])
def test_vllm_stretches_a_context_where_the_config_says_by_how_much(
    rope: dict[str, str] | None, verdict: str
) -> None:
    plain = safetensors(1)
    longest = int(plain.keys["max_position_embeddings"])
    of = replace(plain, keys={**plain.keys, "rope_scaling": rope} if rope else plain.keys)

    found = asked(tenant(of, "--max-model-len", str(longest * 2)), HALO)

    assert found.budget.verdict == verdict
