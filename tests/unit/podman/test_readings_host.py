"""The one question, asked of a real shell, and its answer: read, or unknown with its reason."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from meshctl.targets.podman.readings.host import HostSeen, parse
from meshctl.targets.podman.readings.look import LOOK, Asked, arguments
from meshctl.targets.podman.readings.sections import Sections
from meshctl.targets.podman.readings.value import Known, Unknown

TOKEN = "@3f9a"
ID = "a" * 64
NAMES = [line.split()[1] for line in LOOK.split("\n") if line.startswith("ask ")]
TOOLS = {
    "systemctl": r"""case "$*" in
*--version*) echo "systemd 257 (257.9-1)";;
*InvocationID*) printf 'Id=chat.service\nLoadState=loaded\nActiveState=failed\nNRestarts=5\n'
  printf 'Result=exit-code\nMainPID=0\nInvocationID=%032d\nDropInPaths=/a /b\n' 7;;
*) printf 'ActiveState=failed\nNRestarts=5\n';;
esac""",
    "journalctl": "echo 'bind: address already in use'; echo 'exited with code 1'",
    "podman": rf"""case "$1" in
--version) echo "podman version 5.4.2";;
ps) echo '[{{"Names":["chat"],"Id":"{ID}","Image":"i","ImageID":"{ID}","State":"running","Pid":42,
 "Ports":[{{"host_port":7773,"range":2}}],"Labels":null,"Command":["--api-key","hunter2hunter2"]}}]';;
images) echo '[{{"Id":"{ID}","Digest":"sha256:{ID}","RepoDigests":null,"Size":7}}]';;
*) echo /var/lib/containers/storage;;
esac""",
    "ss": r"""echo 'LISTEN 0 9 0.0.0.0:7773 0.0.0.0:* users:(("llama-server",pid=42,fd=5))'
echo 'LISTEN 0 9 [::]:22 [::]:*'""",
    "loginctl": "echo no",
}


def ask(tmp_path: Path, tools: dict[str, str], *words: str) -> str:
    """What a real shell answers that finds these tools first."""
    for name, body in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    told = subprocess.run(
        ["sh", "-s", "--", *words], input=LOOK, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True,
    )  # fmt: skip
    return told.stdout


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> HostSeen:
    """A host without cards. Its tools may take long here, for this machine may be busy."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "two words.gguf").write_text("12345")
    asked = Asked(
        units=("chat.service",), folders=(f"{folder}/not yet",),
        files=(f"{folder}/two words.gguf", f"{folder}/absent"),
    )  # fmt: skip
    return parse(ask(folder, TOOLS, *arguments(asked, TOKEN, longest_s=120)), TOKEN)


def test_a_tool_that_hangs_is_unknown_and_the_answer_comes_all_the_same(tmp_path: Path) -> None:
    hangs = {"nvidia-smi": "kill -STOP $$; sleep 600"}

    seen = parse(ask(tmp_path, hangs, *arguments(Asked(), TOKEN, longest_s=1)), TOKEN)

    assert isinstance(seen.cards, Unknown)
    assert seen.cards.reason == "nvidia-smi did not answer in time"
    assert seen.whole


def test_a_unit_is_read_with_its_first_cause(host: HostSeen) -> None:
    assert isinstance(host.units, Known)

    [unit] = host.units.value

    assert (unit.name, unit.active, unit.drop_ins) == ("chat.service", "failed", ("/a", "/b"))
    assert unit.restarts == Known[int](value=5, source="systemctl show")
    assert unit.cause is not None and "address already in use" in unit.cause.line


def test_holders_of_ports_are_named(host: HostSeen) -> None:
    assert isinstance(host.listeners, Known) and isinstance(host.containers, Known)

    held = [(one.port, one.pid, one.name) for one in host.listeners.value]

    assert held == [(7773, 42, "llama-server"), (22, None, "")]
    assert host.containers.value[0].ports == (7773, 7774)


def test_what_a_container_was_started_with_is_not_kept(host: HostSeen) -> None:
    assert "hunter2" not in host.model_dump_json()


def test_versions_images_and_files_are_read(host: HostSeen) -> None:
    assert isinstance(host.images, Known) and isinstance(host.podman, Known)

    sizes = [one.size_bytes for one in host.files.values()]

    assert host.images.value[0].digests == (f"sha256:{ID}",)
    assert host.podman.value == "5.4.2" and host.linger == Known[bool](value=False)
    assert sizes == [5, None]


def test_a_folder_that_is_not_there_has_the_room_of_the_one_it_would_be_in(host: HostSeen) -> None:
    [folder] = [name for name in host.disks if name.endswith("/not yet")]

    assert isinstance(host.disks[folder], Known)


@pytest.mark.parametrize(
    ("rc", "said", "cards"),
    [
        ("127", "", ()),
        ("6", "No devices were found", ()),
        ("0", "something new", None),
        (
            "9",
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            None,
        ),
    ],
)
def test_a_driver_that_fails_is_not_a_host_without_cards(
    rc: str, said: str, cards: tuple[()] | None
) -> None:
    seen = parse(f"{TOKEN} section nvidia {rc}\n{said}\n\n{TOKEN} section drm 0\n", TOKEN)

    assert (None if isinstance(seen.cards, Unknown) else seen.cards.value) == cards


def test_a_tab_after_the_name_of_memory_is_no_zero() -> None:
    text = f"{TOKEN} section memory 0\nMemTotal:\t1000 kB\nMemAvailable:\t400 kB\n"

    memory = parse(text, TOKEN).memory

    assert isinstance(memory, Known) and memory.value.free_bytes == 400 * 1024


def test_the_processes_of_a_unit_are_known_by_its_control_group() -> None:
    text = (
        f"{TOKEN} section units 0\nId=a.service\nNRestarts=0\n\nId=b.service\nNRestarts=0\n"
        f"\n{TOKEN} section procs 0\nunit a.service\n12\n13\nunit b.service\n14\nx\n"
    )

    seen = parse(text, TOKEN)

    assert seen.pids_of("a.service") == {12, 13} and seen.pids_of("b.service") == {14}
    assert seen.pids_of("c.service") == frozenset() == parse("", TOKEN).pids_of("a.service")


def test_a_cut_answer_says_so_and_what_is_missing_is_unknown() -> None:
    seen = parse(f"{TOKEN} section kernel 0\n6.12.0\n", TOKEN)

    assert not seen.whole and isinstance(seen.kernel, Known)
    assert isinstance(seen.listeners, Unknown) and isinstance(seen.cards, Unknown)


def test_a_tool_that_does_not_know_the_token_forges_no_section() -> None:
    forged = f"{TOKEN} section kernel 0\n6.12.0\n@other section linger 0\nyes\n"

    assert isinstance(parse(forged, TOKEN).linger, Unknown)


def test_a_line_of_ss_that_is_not_understood_makes_no_port_free() -> None:
    listed = "LISTEN 0 9 0.0.0.0:22 0.0.0.0:*\nLISTEN what is this\n"

    seen = parse(f"{TOKEN} section ports 0\n{listed}", TOKEN)

    assert isinstance(seen.listeners, Unknown) and "what is this" in seen.listeners.raw


@pytest.mark.parametrize("unit", ["--all.service", "a b.service", "x.service\n", "$(id).service"])
def test_a_unit_that_is_no_name_is_not_asked_for(unit: str) -> None:
    with pytest.raises(ValidationError):
        Asked(units=(unit,))


def test_every_section_that_is_read_is_asked_for() -> None:
    assert len(NAMES) == len(set(NAMES)) > 20
    assert Sections(f"{TOKEN} section end 0\n", TOKEN).whole


@settings(deadline=None)  # a machine under load is slow, not wrong
@given(st.text(), st.sampled_from(["0", "1", "127", "late", ""]))
def test_no_answer_breaks_the_reading(text: str, rc: str) -> None:
    parse(text, TOKEN)
    parse("".join(f"\n{TOKEN} section {name} {rc}\n{text}\n" for name in NAMES), TOKEN)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
KEYS = st.sampled_from(
    ["card0", "gpu", "gpu_data", "mem_usage", "total_vram", "used_vram", "value", "unit", "Names",
     "Id", "Ports", "host_port", "range", "Labels", "Pid", "Digest", "RepoDigests", "Size",
     "VRAM Total Memory (B)", "VRAM Total Used Memory (B)", "Card Series"]
)  # fmt: skip


@settings(deadline=None)
@given(st.recursive(LEAVES, lambda one: st.lists(one) | st.dictionaries(KEYS, one), max_leaves=30))
def test_no_shape_of_json_breaks_the_reading(found: object) -> None:
    text = json.dumps(found)

    parse("".join(f"\n{TOKEN} section {name} 0\n{text}\n" for name in NAMES), TOKEN)


def test_json_that_is_made_to_break_readers_is_unknown() -> None:
    for text in ("[" * 100_000, "[" + "9" * 5000 + "]", '["\\ud800"]', "{"):
        seen = parse(f"{TOKEN} section containers 0\n{text}\n", TOKEN)

        assert isinstance(seen.containers, Unknown)
