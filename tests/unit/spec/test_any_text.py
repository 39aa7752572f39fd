"""Whatever is written, loading gives a Fleet or a SpecError, soon."""

import random
from pathlib import Path
from time import perf_counter

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.errors import SpecError
from meshctl.spec import fields
from meshctl.spec.load import load
from meshctl.spec.model import Fleet
from meshctl.spec.yaml import MAX_CHARACTERS

BASE = (Path(__file__).parents[2] / "fleets" / "cloud_and_host.yaml").read_text()
EXAMPLE = (Path(__file__).parents[3] / "configs" / "example.yaml").read_text()
KEYS = sorted({key.path[-1] for key in fields.every_key()} | {"x-a", "<<", "chat", "gcp", "small"})
SCALARS = st.sampled_from(
    ["1", "017", "null", "", "~", "true", "2Gi", "1h", "chat", "${HOME}", "-1"]
)
TREES = st.recursive(
    SCALARS | st.none() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=20,
)


def outcome(text: str) -> Fleet | SpecError:
    """What becomes of the text; any other exception fails the test."""
    try:
        return load(text, "f.yaml", {"HOME": "/root"})
    except SpecError as error:
        assert error.problems
        assert all(p.place.startswith("f.yaml:") and p.message for p in error.problems)
        return error


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text_is_a_fleet_or_refused(text: str) -> None:
    outcome(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="abx-:[]{},&*!|>'\"#%@?~$ \n\t10"))
def test_any_text_of_yaml_marks_is_a_fleet_or_refused(text: str) -> None:
    outcome(text)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), TREES))
def test_any_tree_of_known_keys_is_a_fleet_or_refused(tree: dict[str, object]) -> None:
    outcome(yaml.safe_dump(tree))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([BASE, EXAMPLE]), TREES)
def test_a_sound_fleet_with_one_value_exchanged_is_a_fleet_or_refused(
    seed: int, text: str, value: object
) -> None:
    tree = yaml.safe_load(text)
    _exchange(tree, value, random.Random(seed))

    outcome(yaml.safe_dump(tree))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(EXAMPLE) - 1), st.characters())
def test_a_sound_fleet_with_one_character_exchanged_is_a_fleet_or_refused(
    at: int, new: str
) -> None:
    outcome(EXAMPLE[:at] + new + EXAMPLE[at + 1 :])


HOSTILE = {
    "brackets": "a: " + "[" * 2_000_000,
    "dashes": "- " * 1_000_000,
    "question marks": "? " * 1_000_000,
    "deep aliases": "\n".join(
        f"k{n}: &a{n} [[[*a{n - 1}]]]" if n else "k0: &a0 [x]" for n in range(30000)
    ),
    "wide aliases": "a: &a [" + "x," * 50_000 + "]\nb: [" + "*a," * 50_000 + "]",
    "one long line": "a: " + "x" * (MAX_CHARACTERS - 10),
    "too long": "x" * (MAX_CHARACTERS + 1),
    "a long number": BASE + "    port: " + "9" * 1_000_000,
    "many unknown keys": BASE + "".join(f"    kee{n}: 1\n" for n in range(50_000)),
    "many unknown names": BASE
    + "".join(f"  s{n}: {{target: gco, image: m{n}}}\n" for n in range(2000)),
    "many broken services": BASE + "".join(f"  s{n}: {{port: 0}}\n" for n in range(2000)),
    "many variables": BASE + "    env: {A: '" + "${Q}" * 100_000 + "'}\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_within_seconds(text: str) -> None:
    begun = perf_counter()

    refused = outcome(text)

    assert isinstance(refused, SpecError)
    assert perf_counter() - begun < 20


def test_a_thousand_services_cost_no_more_than_three_plain_readings() -> None:
    service = BASE.split("services:\n")[1].split("  box:")[0]
    text = BASE + "".join(service.replace("  chat:", f"  chat-{n}:") for n in range(1000))
    plain = min(_seconds(lambda: yaml.load(text, Loader=yaml.SafeLoader)) for _ in range(1))

    loading = min(_seconds(lambda: load(text, "f.yaml", {})) for _ in range(2))

    assert loading < max(3 * plain, 1.0)


def _seconds(act: object) -> float:
    assert callable(act)
    begun = perf_counter()
    act()
    return perf_counter() - begun


def _exchange(tree: object, value: object, dice: random.Random) -> None:
    while isinstance(tree, dict | list) and tree:
        key = dice.choice(list(tree)) if isinstance(tree, dict) else dice.randrange(len(tree))
        inner = tree[key]
        if not isinstance(inner, dict | list) or not inner or dice.random() < 0.2:
            tree[key] = value
            return
        tree = inner
