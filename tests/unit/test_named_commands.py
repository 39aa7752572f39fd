"""Every command that a document, a hint or a message names can really be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from meshctl.cli.lazy import root
from meshctl.cli.settings import OPTIONS

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`meshctl ([^`]+)`")
TYPED = re.compile(r"^\$ meshctl (.+)$", re.MULTILINE)
GLOBAL = {name for option in OPTIONS for name in option.names} | {"--help", "--version"}


def named_in_documents() -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages = [page for page in pages if page.name not in ("cli.md", "CHANGELOG.md")]
    texts = [(page.name, page.read_text(encoding="utf-8")) for page in pages]
    return [(name, words) for name, text in texts for form in (NAMED, TYPED)
            for words in form.findall(text)]  # fmt: skip


def named_in_code() -> list[tuple[str, str]]:
    files = sorted((ROOT / "meshctl").rglob("*.py"))
    texts = [(file.name, joined(file.read_text(encoding="utf-8"))) for file in files]
    return [(name, words) for name, text in texts for words in NAMED.findall(text)]


def joined(source: str) -> str:
    """Neighbouring string literals as the one text they make."""
    return re.sub(r'"\s*\n\s*f?"', "", source)


def complaint(words: str) -> str:
    """What is wrong with a command line, or nothing."""
    command, rest = root(), words.split("  #")[0].split()
    if rest[0] in GLOBAL:
        return ""
    path: list[str] = []
    while rest and hasattr(command, "get_command"):
        found = command.get_command(None, rest[0])
        if found is None:
            return f"no command {' '.join([*path, rest[0]])!r}"
        command, path, rest = found, [*path, rest[0]], rest[1:]
    known = GLOBAL | {name for param in command.params for name in getattr(param, "opts", ())}
    own = rest[: rest.index("--")] if "--" in rest else rest  # what follows is somebody else's
    unknown = [word for word in own if word.startswith("-") and word.split("=")[0] not in known]
    return f"{' '.join(path)} has no {unknown[0]}" if unknown else ""


@pytest.mark.parametrize(("where", "words"), named_in_documents() + named_in_code())
def test_a_command_that_is_named_can_be_typed(where: str, words: str) -> None:
    assert complaint(words) == "", f"{where}: meshctl {words}"


def test_the_test_sees_an_unknown_command_and_an_unknown_option() -> None:
    assert complaint("deploi chat") == "no command 'deploi'"
    assert complaint("deploy chat --fast") == "deploy has no --fast"
    assert complaint("lock break chat --reason TEXT") == ""
