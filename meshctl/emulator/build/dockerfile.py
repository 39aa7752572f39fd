"""The Dockerfile subset: a file's text becomes instructions, or a failure that names the line."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass

KNOWN = ("FROM", "ARG", "COPY", "ENV", "WORKDIR", "ENTRYPOINT", "CMD", "LABEL")


class BuildError(Exception):
    """A build that cannot go on; the text says where and why."""


@dataclass(frozen=True)
class Instruction:
    """One instruction with its place."""

    place: str  # FILE:LINE
    name: str
    text: str

    def fail(self, why: str) -> BuildError:
        """The failure of this instruction."""
        return BuildError(f"{self.place}: {self.name} {self.text}: {why}")

    def words(self) -> list[str]:
        """The arguments, in JSON form or split as a shell would."""
        if self.text.startswith("["):
            return self.json()
        return shlex.split(self.text)

    def json(self) -> list[str]:
        """The arguments of the JSON form, which is the only one without a shell."""
        try:
            value = json.loads(self.text)
        except ValueError as err:
            raise self.fail("only the JSON form is supported, the image has no shell") from err
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.fail("the JSON form is a list of texts")
        return value

    def pairs(self) -> dict[str, str]:
        """KEY=VALUE words, or the older KEY VALUE form."""
        words = shlex.split(self.text)
        if words and "=" not in words[0]:
            key, _, value = self.text.partition(" ")
            return {key: value.strip()}
        if not words or any("=" not in word for word in words):
            raise self.fail("expected KEY=VALUE")
        return dict(word.split("=", 1) for word in words)


def parse(name: str, text: str) -> list[Instruction]:
    """All instructions; BuildError at the first that is not in the subset."""
    out: list[Instruction] = []
    for number, line in _logical(text):
        word, _, rest = line.partition(" ")
        instruction = Instruction(f"{name}:{number}", word.upper(), rest.strip())
        _check(instruction, first=not [i for i in out if i.name != "ARG"])
        out.append(instruction)
    if not any(i.name == "FROM" for i in out):
        raise BuildError(f"{name}: no FROM instruction")
    return out


def _check(instruction: Instruction, first: bool) -> None:
    if instruction.name not in KNOWN:
        raise instruction.fail(f"unsupported instruction (supported: {', '.join(KNOWN)})")
    if first and instruction.name not in ("FROM", "ARG"):
        raise instruction.fail("the first instruction must be FROM scratch")
    if instruction.name == "FROM" and (not first or instruction.text != "scratch"):
        raise instruction.fail("only one stage FROM scratch is supported")


def _logical(text: str) -> list[tuple[int, str]]:
    """Lines joined over trailing backslashes, without comments and blanks."""
    out: list[tuple[int, str]] = []
    start, held = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("#") or (not line and not held):
            continue
        start = start if held else number
        held += line.removesuffix("\\").strip() + " "
        if not line.endswith("\\"):
            out.append((start, held.strip()))
            held = ""
    if held.strip():
        out.append((start, held.strip()))
    return out


def expand(text: str, variables: dict[str, str]) -> str:
    """`$NAME` and `${NAME}` replaced; unknown names become empty, `\\$` stays a dollar."""

    def value(match: re.Match[str]) -> str:
        """What one variable stands for."""
        if match.group(0) == "\\$":
            return "$"
        return variables.get(match.group(1) or match.group(2), "")

    return re.sub(r"\\\$|\$\{(\w+)\}|\$(\w+)", value, text)
