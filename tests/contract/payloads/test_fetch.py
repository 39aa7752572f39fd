"""`meshctl payload fetch` as a process: killed, at once with another, and with a token."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshctl.ui.payloads import PayloadFetch
from tests.fakes.model_hub import ModelHub, Zeros

CANARY = "hf_canarycanarycanary"
MB = 2**20
SMALL = random.Random(1).randbytes(3 * MB)


def environ(hub: ModelHub, **more: str) -> dict[str, str]:
    """What a fetch may see: nothing of the operator's own tokens."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "AWS_", "R2_"))}
    return {**clean, "HF_ENDPOINT": hub.url, "HF_HOME": "/nowhere", **more}


def start(hub: ModelHub, folder: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "meshctl", "-o", "json", "payload", "fetch", *words],
        cwd=folder, env=environ(hub, **more), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def fetched(hub: ModelHub, folder: Path, *words: str, code: int = 0, **more: str) -> Any:
    """The document of a fetch that ended with this code."""
    process = start(hub, folder, *words, **more)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, f"{out}\n{err}"
    document = json.loads(out)
    if code == 0:
        assert PayloadFetch.model_validate(document).data() == document
    return document


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def hub() -> Iterator[ModelHub]:
    with ModelHub({"m.gguf": SMALL}) as made:
        yield made


def test_a_file_of_the_hub_is_proved_by_the_digest_that_the_hub_names(
    hub: ModelHub, tmp_path: Path
) -> None:
    (found,) = fetched(hub, tmp_path, hub.source("m.gguf"))["files"]

    assert (tmp_path / "m.gguf").read_bytes() == SMALL
    assert (found["sha256"], found["bytes"]) == (hub.digests["m.gguf"], len(SMALL))
    assert (found["proved"], found["by"]) == (True, "the sha256 that the hub names")
    assert left(tmp_path) == ["m.gguf", "m.gguf.manifest.json"]


def test_a_fetch_killed_five_times_ends_right_and_sends_little_twice(tmp_path: Path) -> None:
    """A file of 512 pieces, as a large one is, killed at seeded places."""
    chance, size = random.Random(7), 128 * MB
    data = chance.randbytes(MB) * (size // MB)
    with ModelHub({"m.gguf": data}, chunk_s=0.001) as hub:
        for place in sorted(chance.sample(range(size // 20, size * 9 // 10), 5)):
            _killed_when_sent(hub, tmp_path, place)
        hub.chunk_s = 0.0
        (found,) = fetched(hub, tmp_path, hub.source("m.gguf"))["files"]

        assert hashlib.sha256((tmp_path / "m.gguf").read_bytes()).hexdigest() == found["sha256"]
        assert found["resumed"] > 0 and found["proved"]
        assert hub.sent - size < 0.05 * size, f"{hub.sent - size:,} bytes twice"
        (tmp_path / "m.gguf").unlink()  # the folder outlives the test


def _killed_when_sent(hub: ModelHub, folder: Path, place: int) -> None:
    reached = threading.Event()
    hub.before = lambda sent: reached.set() if sent >= place else None
    process = start(hub, folder, hub.source("m.gguf"))
    assert reached.wait(60), process.communicate()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (folder / "m.gguf").exists(), "a reader never sees half of it"


def test_two_fetches_of_one_file_do_not_write_at_once(hub: ModelHub, tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def hold(sent: int) -> None:
        if sent > MB:
            begun.set()
            go.wait(60)

    hub.before = hold
    first = start(hub, tmp_path, hub.source("m.gguf"))
    assert begun.wait(60)
    refused = fetched(hub, tmp_path, hub.source("m.gguf"), code=5)
    waiting = start(hub, tmp_path, hub.source("m.gguf"), "--lock-wait", "60s")
    go.set()
    answers = [process.communicate(timeout=60)[0] for process in (first, waiting)]

    assert "another process" in refused["message"]
    assert [json.loads(out)["files"][0]["there"] for out in answers] == [False, True]
    assert left(tmp_path) == ["m.gguf", "m.gguf.manifest.json"]


FLEET = """
meshctl: 1
fleet: tiny
targets: {local: {kind: cloudrun, project: local, region: local1}}
images: {mesh: {ref: "example.org/mesh@sha256:%s"}}
payloads: {two: {source: "%s", files: %s}}
services: {}
"""


def test_a_payload_of_the_fleet_appears_as_a_whole(tmp_path: Path) -> None:
    files = {"a.gguf": SMALL, "sub/b.gguf": SMALL[::-1]}
    with ModelHub(files) as hub:
        declared = json.dumps({name: hub.declared(name) for name in files})
        source = hub.source("").rstrip("/")
        (tmp_path / "meshctl.yaml").write_text(FLEET % ("2" * 64, source, declared))
        hub.flip = 5
        fetched(hub, tmp_path, "two", "--to", "models", code=9)
        half = (tmp_path / "models/two").exists()
        hub.flip = None
        found = fetched(hub, tmp_path, "two", "--to", "models")["files"]
        again = fetched(hub, tmp_path, "two", "--to", "models")["files"]

    assert not half
    assert [(row["path"], row["proved"]) for row in found] == [
        ("models/two/a.gguf", True), ("models/two/sub/b.gguf", True),
    ]  # fmt: skip
    assert all((tmp_path / "models/two" / name).read_bytes() == files[name] for name in files)
    assert left(tmp_path / "models") == ["two"]
    assert [row["there"] for row in again] == [True, True]


@pytest.mark.parametrize("name", ["..%2F..%2Fx", "%2E%2E", "a%00b"])
def test_no_name_leads_out_of_the_folder(name: str, hub: ModelHub, tmp_path: Path) -> None:
    place = hub.web("m.gguf").rpartition("/")[0]

    refused = fetched(hub, tmp_path, f"{place}/{name}", "--sha256", "0" * 64, code=64)

    assert "no name of a file" in refused["message"] and hub.asked == []


def test_a_token_reaches_the_hub_alone_and_no_sink(tmp_path: Path) -> None:
    given = {"HF_TOKEN": CANARY}
    sinks: list[str] = []
    with ModelHub({"m.gguf": SMALL}, token=CANARY) as hub:
        hub.before = lambda _: sinks.append(_command_lines())
        out = tmp_path / "out"
        words = (hub.source("m.gguf"), "--to", str(out), "-v", "--progress")
        good = start(hub, tmp_path, *words, **given)
        sinks += good.communicate(timeout=60)
        hub.flip = 0
        wrong = start(hub, tmp_path, hub.source("m.gguf"), "--to", f"{out}2", "-v", **given)
        sinks += wrong.communicate(timeout=60)
        asked = list(hub.asked)

    sinks += [path.read_bytes().decode("latin-1") for path in out.rglob("*") if path.is_file()]
    assert (good.returncode, wrong.returncode) == (0, 9)
    assert {said for where, _, _, said in asked if where == "hub"} == {f"Bearer {CANARY}"}
    assert {said for where, _, _, said in asked if where == "store"} == {""}
    assert not [sink for sink in sinks if CANARY in sink or "signature=canary" in sink]


def _command_lines() -> str:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode("latin-1"))
        except OSError:
            continue
    return "\n".join(found)


PEAK = """
import resource, sys
from meshctl.cli.main import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    sizes = (24 * MB, 384 * MB)
    with ModelHub({f"{size}.bin": Zeros(size) for size in sizes}) as hub:
        peaks = [_peak_of(hub, tmp_path, f"{size}.bin") for size in sizes]

    assert peaks[1] < 1.5 * peaks[0], peaks


def _peak_of(hub: ModelHub, folder: Path, name: str) -> int:
    words = ["payload", "fetch", hub.web(name), "--sha256", hub.digests[name]]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words], cwd=folder, env=environ(hub), text=True,
        capture_output=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / name).unlink()  # the folder outlives the test
    return int(done.stderr.split()[-1])


def test_a_fetch_tells_in_80_columns_what_it_did(hub: ModelHub, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "meshctl", "payload", "fetch", hub.source("m.gguf")],
        cwd=tmp_path, env=environ(hub), capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.returncode == 0 and done.stderr == "", "silent when nobody looks"
    shown = [line for line in done.stdout.splitlines() if hub.source("m.gguf") not in line]
    assert max(map(len, shown)) <= 80
    assert "by the sha256 that the hub names" in done.stdout
