"""The docker builder: `docker build | tag | push` without a docker daemon."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from meshctl.emulator.build import imagefile
from meshctl.emulator.build.dockerfile import BuildError
from meshctl.emulator.images import reference
from meshctl.emulator.images.registry import Registry

_VALUED = {"-t": "tag", "--tag": "tag", "-f": "file", "--file": "file", "--build-arg": "arg"}
_SWITCHES = ("--no-cache", "--pull", "-q", "--quiet")
_IGNORED_VALUED = ("--network", "--progress", "--cache-from", "--platform")


@dataclass
class BuildCommand:
    """`docker build` read from its words."""

    tags: list[str] = field(default_factory=list)
    file: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    context: str = ""


def parse_build(words: list[str]) -> BuildCommand:
    """The command; BuildError names the word that is not understood."""
    out, rest = BuildCommand(), list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _SWITCHES:
            continue
        if name in _VALUED or name in _IGNORED_VALUED:
            _take(out, name, value if equals else _next(rest, word))
        elif word.startswith("-"):
            raise BuildError(f"docker build: unsupported option '{word}'")
        elif out.context:
            raise BuildError(f"docker build: one context expected, '{word}' is a second")
        else:
            out.context = word
    if not out.context:
        raise BuildError("docker build: a context is required")
    return out


def _next(rest: list[str], word: str) -> str:
    if not rest:
        raise BuildError(f"docker build: '{word}' needs a value")
    return rest.pop(0)


def _take(out: BuildCommand, name: str, value: str) -> None:
    kind = _VALUED.get(name)
    if kind == "tag":
        out.tags.append(value)
    elif kind == "file":
        out.file = value
    elif kind == "arg":
        key, _, text = value.partition("=")
        out.arguments[key] = text


class Docker:
    """The images of one build by tag, until they are pushed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.images: dict[str, str] = {}
        self.pushed: dict[str, str] = {}

    def run(self, words: list[str], folder: Path) -> str:
        """Run one command in a folder; what it has to say. Blocking; BuildError."""
        verb, rest = (words[0], words[1:]) if words else ("", [])
        if verb == "build" or words[:2] == ["buildx", "build"]:
            return self._build(rest if verb == "build" else words[2:], folder)
        if verb == "tag" and len(rest) == 2:
            self.images[_full(rest[1])] = self._known(rest[0])
            return f"tagged {rest[1]}\n"
        if verb == "push" and rest:
            return "".join(self.push(name) for name in rest if not name.startswith("-"))
        raise BuildError(f"docker: unsupported command '{' '.join(words)}'")

    def _build(self, words: list[str], folder: Path) -> str:
        command = parse_build(words)
        context = folder / command.context
        shown = command.file or "Dockerfile"
        file = folder / command.file if command.file else context / "Dockerfile"
        digest = imagefile.build(self._registry, context, file, shown, command.arguments)
        for tag in command.tags:
            self.images[_full(tag)] = digest
        lines = [
            f"Successfully built {digest}",
            *(f"Successfully tagged {t}" for t in command.tags),
        ]
        return "\n".join(lines) + "\n"

    def _known(self, name: str) -> str:
        found = self.images.get(_full(name)) or self._registry.resolve(name)
        if found is None:
            raise BuildError(f"An image does not exist locally with the tag: {name}")
        return found

    def push(self, name: str) -> str:
        """Make an image of this build known to the registry."""
        digest = self._known(name)
        ref = reference.parse(name)
        if ref is None:
            raise BuildError(f"invalid image reference '{name}'")
        self._registry.push(ref.repository, ref.tag, digest)
        self.pushed[name] = digest
        return f"{name}: digest: {digest}\n"


def _full(name: str) -> str:
    ref = reference.parse(name)
    if ref is None:
        raise BuildError(f"invalid image reference '{name}'")
    return f"{ref.repository}:{ref.tag}"
