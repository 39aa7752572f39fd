"""Turns a parsed Dockerfile and its context into an image of the registry."""

from __future__ import annotations

import glob
import os
import posixpath
import stat
from pathlib import Path
from typing import Any

from meshctl.emulator.build import dockerfile, ignore
from meshctl.emulator.build.dockerfile import BuildError, Instruction
from meshctl.emulator.images.layer import Layer
from meshctl.emulator.images.registry import Registry


class Assembly:
    """One `docker build`: instructions are applied in order, COPY makes a layer each."""

    def __init__(self, registry: Registry, context: Path, arguments: dict[str, str]) -> None:
        self._registry, self._context = registry, Path(os.path.realpath(context))
        self._ignored = ignore.read(context)
        self._given, self._arguments = arguments, dict[str, str]()
        self._variables: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        self._config: dict[str, Any] = {}
        self._layers: list[tuple[str, int]] = []

    def build(self, instructions: list[Instruction]) -> str:
        """Apply everything; the manifest digest. BuildError says where it went wrong."""
        for instruction in instructions:
            getattr(self, f"_{instruction.name.lower()}")(instruction)
        config = dict(self._config)
        if self._variables:
            config["Env"] = [f"{k}={v}" for k, v in self._variables.items()]
        if self._labels:
            config["Labels"] = self._labels
        return self._registry.put_image(config, self._layers)

    def _expand(self, text: str) -> str:
        return dockerfile.expand(text, self._arguments | self._variables)

    def _from(self, instruction: Instruction) -> None:
        """FROM scratch: nothing to start from."""

    def _arg(self, instruction: Instruction) -> None:
        name, equals, default = instruction.text.partition("=")
        if name in self._given or equals:
            self._arguments[name] = self._given.get(name, self._expand(default.strip("\"'")))

    def _env(self, instruction: Instruction) -> None:
        self._variables |= self._pairs(instruction)

    def _pairs(self, instruction: Instruction) -> dict[str, str]:
        return {k: self._expand(v) for k, v in instruction.pairs().items()}

    def _label(self, instruction: Instruction) -> None:
        self._labels |= self._pairs(instruction)

    def _workdir(self, instruction: Instruction) -> None:
        here = self._config.get("WorkingDir", "/")
        self._config["WorkingDir"] = posixpath.normpath(
            posixpath.join(here, self._expand(instruction.text))
        )

    def _entrypoint(self, instruction: Instruction) -> None:
        self._config["Entrypoint"] = instruction.json()
        self._config.pop("Cmd", None)

    def _cmd(self, instruction: Instruction) -> None:
        self._config["Cmd"] = instruction.json()

    def _copy(self, instruction: Instruction) -> None:
        words = [self._expand(word) for word in instruction.words()]
        if any(word.startswith("--") for word in words):
            raise instruction.fail("options of COPY are not supported")
        if len(words) < 2:
            raise instruction.fail("expected COPY SOURCE... DESTINATION")
        layer = Layer()
        sources = [path for word in words[:-1] for path in self._sources(instruction, word)]
        self._place(layer, instruction, sources, words[-1])
        self._layers.append(layer.write(self._registry.blobs))

    def _sources(self, instruction: Instruction, word: str) -> list[Path]:
        """The files a source word means; they must lie inside the context."""
        pattern = os.path.join(glob.escape(str(self._context)), word.lstrip("/"))
        found = [Path(os.path.normpath(p)) for p in sorted(glob.glob(pattern))]
        found = [p for p in found if p == self._context or not self._ignored(self._name(p))]
        if not found:
            raise instruction.fail(f"'{word}' is not in the build context")
        for path in found:
            home = os.path.realpath(path)
            if home != str(self._context) and not home.startswith(f"{self._context}{os.sep}"):
                raise instruction.fail(f"'{word}' lies outside the build context")
        return found

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self._context)

    def _place(
        self, layer: Layer, instruction: Instruction, sources: list[Path], target: str
    ) -> None:
        into = target.endswith("/") or target in (".", "./") or len(sources) > 1
        place = posixpath.join(self._config.get("WorkingDir", "/"), target)
        base = posixpath.normpath(place).strip("/")
        base = "" if base == "." else base
        for source in sources:
            if source.is_dir():
                self._copy_folder(layer, instruction, source, base)
            else:
                name = posixpath.join(base, source.name) if into else base
                self._copy_file(layer, instruction, name, source)

    def _copy_folder(self, layer: Layer, instruction: Instruction, source: Path, base: str) -> None:
        layer.add_folder(base)
        for folder, folders, files in os.walk(source):
            folders.sort()
            for name in sorted(folders + files):
                path = Path(folder, name)
                if self._ignored(self._name(path)):
                    continue
                inside = posixpath.join(base, os.path.relpath(path, source))
                if path.is_dir() and not path.is_symlink():
                    layer.add_folder(inside, stat.S_IMODE(path.stat().st_mode))
                else:
                    self._copy_file(layer, instruction, inside, path)

    def _copy_file(self, layer: Layer, instruction: Instruction, name: str, path: Path) -> None:
        kind = path.lstat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
            raise instruction.fail(f"'{self._name(path)}' is neither a file, a folder nor a link")
        layer.add_file(name, path)


def build(
    registry: Registry, context: Path, file: Path, shown: str, arguments: dict[str, str]
) -> str:
    """Build one image; the manifest digest. Blocking: run it in a thread."""
    if not context.is_dir():
        raise BuildError(f"the build context '{context.name}' is not a folder")
    if not file.is_file():
        raise BuildError(f"{shown}: no such Dockerfile in the build context")
    instructions = dockerfile.parse(shown, file.read_text())
    return Assembly(registry, context, arguments).build(instructions)
