"""The commands of docs/payloads.md about files on a disk can be typed as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.contract.payloads.commands import answer, run
from tests.fakes.model_hub import ModelHub

PAGE = Path(__file__).parents[3] / "docs/payloads.md"
TYPED = re.compile(r"^\$ meshctl (.+?)(?:  # exit (\d+))?$", re.MULTILINE)
FLEET = """
meshctl: 1
fleet: tiny
targets: {local: {kind: cloudrun, project: local, region: local1}}
images: {mesh: {ref: "example.org/mesh@sha256:%s"}}
payloads: {qwen3-8b: {source: "%s", files: {qwen3-8b.Q8_0.gguf: {bytes: %s, sha256: "%s"}}}}
services:
  chat: {target: local, image: mesh, args: [mesh], models: {m: {payload: qwen3-8b}}}
"""


def section(title: str) -> list[tuple[str, int]]:
    """The commands below a heading, each with the exit code that it says it has."""
    text = PAGE.read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [(words, int(code or 0)) for words, code in TYPED.findall(text)]


def test_the_commands_to_verify_and_to_take_back_end_as_the_page_says(tmp_path: Path) -> None:
    file = "qwen3-8b.Q8_0.gguf"
    with ModelHub({file: bytes(70_000), "old.gguf": b"old" * 30_000}) as hub:
        source, known = hub.source("").rstrip("/"), hub.declared(file)
        (tmp_path / "meshctl.yaml").write_text(FLEET % ("1" * 64, source, *known.values()))
        (tmp_path / "serve.env").write_text("MODEL=/models/other.gguf\n")
        for words in (("qwen3-8b",), (hub.source("old.gguf"),)):
            answer(tmp_path, "fetch", *words, "--to", "models", HF_ENDPOINT=hub.url)
        commands = [*section("Verify"), *section("Take back")]
        ended = [(words, run(tmp_path, *shlex.split(words), HF_ENDPOINT=hub.url))
                 for words, _ in commands]  # fmt: skip

    assert [(words, found[0]) for words, found in ended] == commands, ended
    assert len(commands) == 11
    assert [max(map(len, out.splitlines())) <= 80 for _, (_, out, _) in ended] == [True] * 11
