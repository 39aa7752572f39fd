"""How the budget of a service looks: on 80 columns, without colour, and as a picture."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from meshctl.budget.answer import Answer, Question, answer
from meshctl.budget.card import Card
from meshctl.budget.settings import Neighbour
from meshctl.budget.tenants import Tenant
from meshctl.ui.budget import Budget, answer_document
from meshctl.ui.render import render
from meshctl.ui.render.budget_picture import LEFT, STYLE, WIDTH, budget_picture
from tests.unit.budget.known_models import GIB, HALO, KEYS_27B, L4, gguf, safetensors, tenant

TWO = Card("R9700", 2, round(31.86 * GIB), "assumed", "unverified", reserved_bytes=GIB // 2)
SMALL = Neighbour("frank-small", 9 * GIB, 10 * GIB, "all it keeps")
NEW = Neighbour("newcomer", GIB, None, "its files at least; its header was not read")


def answers() -> dict[str, Answer]:
    home = tenant(gguf(16.35, KEYS_27B), name="qwen3.8-27b")
    crowd = [tenant(gguf(8), "-c", "262144", "-np", "4", "--frobnicate", name="large"),
             tenant(gguf(4), "-c", "8192", "--lora", "x", name="small")]  # fmt: skip
    unread = Tenant("m", "llama-server", why="payload p: its header could not be read: no answer")
    return {
        "home": answer("frank-large", [home], HALO, [SMALL], Question(163_840, 4)),
        "no": answer("chat", crowd, L4, cloud=True),
        "vllm": answer("vl", [tenant(safetensors(52), "-tp", "2", name="vl")], TWO),
        "unsure": answer("chat", [tenant(gguf(8), "-c", "8192", name="m")], L4, [NEW]),
        "unread": answer("chat", [unread], L4),
    }


def document(name: str, *, explain: bool = False) -> Budget:
    return answer_document(answers()[name], explain=explain)


@pytest.mark.parametrize("name", answers())
def test_a_budget_of_a_service_looks_like_the_golden_one(
    name: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"ui/budget-service-{name}", "\n".join(render(document(name))) + "\n")


@pytest.mark.parametrize("name", answers())
def test_no_line_of_a_service_is_wider_than_80_columns(name: str) -> None:
    lines = render(document(name, explain=True))

    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", answers())
def test_the_document_is_of_its_type_with_the_agreed_keys_and_more(name: str) -> None:
    data = document(name).data()

    assert Budget.model_validate(data).data() == data
    assert {"kind", "verdict", "why", "contexts", "ways", "neighbours", "device"} <= set(data)


@pytest.mark.parametrize("name", answers())
def test_a_picture_is_whole_and_needs_nothing_else(name: str) -> None:
    drawn = budget_picture(document(name))

    root = ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "href" not in drawn
    assert "url(" not in drawn
    assert "prefers-color-scheme: dark" in STYLE


@pytest.mark.parametrize("name", ["home", "no", "vllm"])
def test_every_part_is_as_wide_as_its_share(name: str) -> None:
    shown = document(name)
    root = ElementTree.fromstring(budget_picture(shown))

    bars = {str(rect.get("class")): float(rect.get("width") or 0)
            for rect in root.iter("{http://www.w3.org/2000/svg}rect")
            if rect.find("{http://www.w3.org/2000/svg}title") is not None}  # fmt: skip

    usable = shown.usable_bytes or 0
    used = sum(size or 0 for size in (shown.weights_bytes, shown.pool_bytes, shown.state_bytes,
                                      shown.overhead_high_bytes, shown.others_bytes))  # fmt: skip
    inner = WIDTH - 2 * LEFT
    assert abs(sum(bars.values()) - inner) < 1
    assert abs(bars["weights"] - inner * (shown.weights_bytes or 0) / max(usable, used)) < 0.1
    assert ("others" in bars) is bool(shown.others_bytes)


def test_names_of_strangers_are_no_markup() -> None:
    found = answer("<script>&\x1b", [tenant(gguf(1), "-c", "512", name='"x"')], L4)

    drawn = budget_picture(answer_document(found))

    assert "<script>" not in drawn
    ElementTree.fromstring(drawn)


def test_colours_of_parts_have_one_for_light_and_one_for_dark() -> None:
    light, dark = STYLE.split("@media")
    named = re.compile(r"\.(\w+) \{")

    assert {"weights", "caches", "state", "overhead", "others", "free"} <= set(named.findall(light))
    assert set(named.findall(dark)) >= set(named.findall(light)) - {"title"}
