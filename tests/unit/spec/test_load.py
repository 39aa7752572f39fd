"""What a sound fleet file becomes."""

from pathlib import Path

import pytest

from meshctl.errors import SpecError
from meshctl.spec.load import load
from meshctl.spec.model import Fleet, SecretRef, Service
from meshctl.spec.yaml import MAX_CHARACTERS

BASE = (Path(__file__).parents[2] / "fleets" / "cloud_and_host.yaml").read_text()


def fleet_with(chat: str, environ: dict[str, str] | None = None) -> Fleet:
    """The base fleet with further keys in its service `chat`."""
    return load(
        BASE.replace("    args: [mesh]\n", f"    args: [mesh]\n    {chat}\n"),
        "f.yaml",
        environ or {},
    )


def chat_with(chat: str, environ: dict[str, str] | None = None) -> Service:
    return fleet_with(chat, environ).services["chat"]


def twin_of_chat(chat: str, twin: str) -> Service:
    text = BASE.replace("    args: [mesh]\n", f"    args: [mesh]\n    {chat}\n")
    return load(text + f"  twin: {{like: chat, {twin}}}\n", "f.yaml", {}).services["twin"]


@pytest.mark.parametrize(
    "written",
    ["017", "1.10", "22:22", "no", "0x1F", "1_000", "2024-01-01", "12e3", "off", "1" * 40],
)
def test_a_plain_scalar_stays_the_text_that_was_written(written: str) -> None:
    service = chat_with(f"env: {{A: {written}}}")

    assert service.env == {"A": written}


def test_quantities_are_read_with_their_units() -> None:
    service = chat_with("resources: {cpu: 2, memory: 2.5GiB}\n    timeout: 1h")

    assert service.resources.memory == 5 * 2**29
    assert service.timeout == 3600.0


@pytest.mark.parametrize(
    ("written", "meant"), [("true", True), ("https://127.0.0.1:9", "https://127.0.0.1:9")]
)
def test_an_emulator_is_a_switch_or_a_url(written: str, meant: object) -> None:
    text = BASE.replace("region: us-central1", f"region: us-central1, emulator: '{written}'")

    target = load(text, "f.yaml", {}).targets["gcp"]

    assert target.kind == "cloudrun"
    assert target.emulator == meant


def test_one_name_is_a_list_of_one() -> None:
    service = chat_with("checks: contract")

    assert (service.target, service.checks) == (("gcp",), ("contract",))


def test_a_secret_is_a_reference() -> None:
    service = chat_with("env: {TOKEN: {secret: hf, version: 3}}")

    assert service.env == {"TOKEN": SecretRef(secret="hf", version="3")}


def test_free_keys_are_read_past_on_every_level_with_known_keys() -> None:
    service = chat_with("x-why: {a: [b]}\n    resources: {x-note: hello, cpu: 2}")

    assert service.resources.cpu == 2.0


def test_a_name_that_looks_like_a_free_key_is_a_name() -> None:
    fleet = load(BASE.replace("  box:", "  x-box:"), "f.yaml", {})

    assert "x-box" in fleet.services


def test_an_alias_repeats_what_its_anchor_names() -> None:
    fleet = load(
        BASE.replace(
            "{small: {payload: small}}\n  box", "&m {small: {payload: small}}\n  box"
        ).replace(
            "    image: llama\n    models: {small: {payload: small}}",
            "    image: llama\n    models: *m",
        ),
        "f.yaml",
        {},
    )

    assert fleet.services["box"].models == fleet.services["chat"].models


def test_variables_are_filled_in_and_not_searched_again() -> None:
    service = chat_with('env: {A: "${X}-$${X}-$X-${X}"}', {"X": "${Y}"})

    assert service.env == {"A": "${Y}-${X}-$X-${Y}"}


def test_a_fleet_knows_where_its_keys_were_written() -> None:
    fleet = fleet_with("scaling: {min: 0, max: 2}")

    assert fleet.file == "f.yaml"
    assert fleet.place("services.chat.scaling.max") == "f.yaml:18:23"
    assert fleet.place("services.chat.scaling.concurrency") == "f.yaml:18:5"
    assert fleet.place("services.nobody") == "f.yaml:13:1"
    assert fleet.place("nothing") == "f.yaml:1:1"


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    assert load("\ufeff" + BASE, "f.yaml", {}).fleet == "test"


def test_like_joins_env_resources_and_scaling_entry_by_entry() -> None:
    twin = twin_of_chat(
        "env: {A: 1, B: 2}\n    resources: {cpu: 4, memory: 8Gi}\n    scaling: {max: 3}",
        "env: {B: 3, C: 4}, resources: {memory: 4Gi}, scaling: {min: 1}",
    )

    assert twin.env == {"A": "1", "B": "3", "C": "4"}
    assert (twin.resources.cpu, twin.resources.memory) == (4.0, 4 * 2**30)
    assert (twin.scaling.min, twin.scaling.max) == (1, 3)


def test_like_takes_over_what_is_not_said_and_replaces_what_is() -> None:
    twin = twin_of_chat(
        "timeout: 10m\n    priority: 2\n    checks: [contract, mesh]",
        "args: [x], checks: [contract]",
    )

    assert (twin.timeout, twin.priority, twin.image) == (600.0, 2, "mesh")
    assert (twin.args, twin.checks) == (("x",), ("contract",))


def test_like_never_takes_over_name_or_role() -> None:
    twin = twin_of_chat("name: other\n    role: coordinator", "port: 81")

    assert (twin.name, twin.role, twin.like) == (None, "standalone", "chat")


def test_like_takes_a_default_model_only_with_its_models() -> None:
    both = twin_of_chat("default_model: small", "port: 81")
    own = twin_of_chat("default_model: small", "models: {large: {}}")

    assert (both.default_model, own.default_model) == ("small", None)


def test_null_removes_what_would_be_taken_over() -> None:
    twin = twin_of_chat(
        "timeout: 10m\n    env: {A: 1, B: 2}\n    scaling: {max: 3}",
        "timeout: null, env: {A: ~}, scaling: {max: }",
    )

    assert (twin.timeout, twin.env, twin.scaling.max) == (300.0, {"B": "2"}, 1)


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_like_may_be_a_chain_written_in_any_order(order: tuple[str, ...]) -> None:
    links = {
        "a": "  a: {like: b, env: {A: 1}}\n",
        "b": "  b: {like: c, env: {B: 1, C: 2}}\n",
        "c": "  c: {like: chat, env: {C: 1}}\n",
    }

    fleet = load(BASE + "".join(links[name] for name in order), "f.yaml", {})

    assert fleet.services["a"].env == {"A": "1", "B": "1", "C": "2"}


def test_a_chain_of_a_thousand_is_followed() -> None:
    links = [f"  s{n}: {{like: {f's{n - 1}' if n else 'chat'}}}\n" for n in range(1000)]

    fleet = load(BASE + "".join(reversed(links)), "f.yaml", {})

    assert fleet.services["s999"].image == "mesh"


@pytest.mark.parametrize("role", ["peer", "coordinator"])
def test_a_mesh_without_its_argument_is_left_to_the_plan(role: str) -> None:
    text = BASE.replace("    args: [mesh]", f"    role: {role}")

    assert load(text, "f.yaml", {}).services["chat"].args == ()


def test_values_of_the_environment_never_show_in_an_error() -> None:
    with pytest.raises(SpecError) as refused:
        chat_with("env: {A: '${LONG}'}", {"LONG": "hush" * 9000})

    problem = refused.value.problems[0]
    assert (problem.path, "36,000 bytes" in problem.message) == ("services.chat.env.A", True)
    assert "hush" not in problem.message + problem.hint


@pytest.mark.parametrize(
    "shape",
    [
        "resources: {cpu: 1, memory: 4Gi}",
        "resources: {cpu: 2, memory: 8Gi}",
        "resources: {cpu: 4, memory: 2Gi}",
        "resources: {cpu: 6, memory: 24Gi}",
        "resources: {cpu: 8, memory: 32Gi}",
        "resources: {cpu: 0.5, memory: 1Gi}\n    scaling: {concurrency: 1}",
        "resources: {cpu: 4, memory: 16Gi, gpu: nvidia-l4, zonal_redundancy: true}",
        "resources: {cpu: 30, memory: 120Gi, gpu: nvidia-rtx-pro-6000}",
        "scaling: {min: 2, max: 2}",
        "probe: {path: /health, period: 10s, timeout: 10s, failures: 60}",
        "resources: {cpu: 4, memory: 16Gi, gpu: nvidia-l4}\n    probe: {failures: 180}",
        "rollout: {steps: [1, 99, 100]}",
        "env: {A: " + "x" * 32768 + "}",
        "env: {A: ''}",
    ],
)
def test_what_is_just_allowed_is_taken(shape: str) -> None:
    assert fleet_with(shape).services["chat"].image == "mesh"


def test_hosts_take_ports_devices_mounts_and_batches() -> None:
    keys = """
    ports: ["127.0.0.1:7773:8080", "1:65535"]
    devices: [/dev/kfd]
    mounts: {/models: payload:small, /data: /srv/data}
    rollout: {batches: [1, 25%, 100%], max_failures: 1}"""

    fleet = load(BASE.replace("    image: llama", "    image: llama" + keys), "f.yaml", {})

    assert fleet.services["box"].rollout.batches == ("1", "25%", "100%")


def test_a_file_of_more_than_the_cap_is_not_even_parsed() -> None:
    with pytest.raises(SpecError, match="longer than 4,194,304 characters"):
        load("[" + " " * MAX_CHARACTERS, "f.yaml", {})
