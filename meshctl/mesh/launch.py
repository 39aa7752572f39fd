"""Builds the command line of an engine from what a model declares. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from meshctl.engines.engine import Engine, Flags
from meshctl.engines.known import ENGINES
from meshctl.errors import UsageError
from meshctl.mesh.seat import Member
from meshctl.spec.registry import ModelEntry

PORT = "{port}"
_MARK = re.compile(r"\{(?:file|context|parallel|id)\}")


@dataclass(frozen=True)
class Source:
    """One payload file that has to be fetched: from where, to where, and what it must be."""

    url: str
    path: Path
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Launch:
    """How one engine is started; PORT still stands where the port goes."""

    model: str
    engine: Engine
    argv: tuple[str, ...]
    env: dict[str, str]
    files: tuple[tuple[Path, int], ...]
    """Every payload file and the bytes it must have."""
    group: str
    """The cards it is loaded on: models of one group take turns."""
    member: Member
    load_timeout_s: float | None
    """Longest load; None is as long as the mesh gives any model."""
    stop_grace_s: float
    """From SIGTERM to SIGKILL."""
    payload: str = ""
    """The folder of its files, by which the models that share it know it."""
    sources: tuple[Source, ...] = ()
    """The files that the mesh fetches; the others are there."""

    @property
    def names_port(self) -> bool:
        """The engine takes port 0 and names the one it got; else a free one is chosen for it."""
        return self.engine.port_line is not None

    def command(self, port: int) -> tuple[str, ...]:
        """The command line with its port."""
        return tuple(part.replace(PORT, str(port)) for part in self.argv)


def launch_of(entry: ModelEntry, models_dir: Path) -> Launch:
    """The launch of a model whose payload lies in `models_dir/PAYLOAD`. Raises UsageError."""
    engine = ENGINES[entry.engine]
    folder = models_dir / entry.payload if entry.payload else None
    files = tuple((folder / file.path, file.bytes) for file in entry.files) if folder else ()
    if entry.command:
        argv = _filled(entry, engine, files)
    else:
        argv = _declared(entry, engine, folder, files)
    return Launch(
        model=entry.id,
        engine=engine,
        argv=argv,
        env=dict(entry.env),
        files=files,
        group=entry.group,
        member=Member(entry.id, entry.parallel, entry.sets, entry.pinned, entry.ttl),
        load_timeout_s=entry.load_timeout,
        stop_grace_s=entry.stop_grace,
        payload=entry.payload or "",
        sources=_sources(entry, folder) if folder else (),
    )


def _sources(entry: ModelEntry, folder: Path) -> tuple[Source, ...]:
    return tuple(
        Source(file.source, folder / file.path, file.bytes, file.sha256)
        for file in entry.files
        if file.source
    )


def _filled(
    entry: ModelEntry, engine: Engine, files: tuple[tuple[Path, int], ...]
) -> tuple[str, ...]:
    """The model's own command with its placeholders filled; other braces stay (JSON arguments)."""
    main = _main_file(files)
    values = {
        "{file}": str(main) if main else None,
        "{context}": str(entry.context) if entry.context else None,
        "{parallel}": str(entry.parallel),
        "{id}": entry.id,
    }
    if engine.port_line is None and not any(PORT in part for part in entry.command):
        raise _wrong(entry, "the command has no {port}, so nobody could tell where it listens")
    for mark, value in values.items():
        if value is None and any(mark in part for part in entry.command):
            raise _wrong(entry, f"the command asks for {mark}, which the model does not declare")
    return tuple(_MARK.sub(lambda mark: values[mark[0]] or "", part) for part in entry.command)


def _declared(
    entry: ModelEntry,
    engine: Engine,
    folder: Path | None,
    files: tuple[tuple[Path, int], ...],
) -> tuple[str, ...]:
    """The family's own command line."""
    main = folder if engine.whole_payload else _main_file(files)
    if engine.flags is None:
        raise _wrong(entry, f"engine {engine.name} needs a command")
    if main is None:
        raise _wrong(entry, f"engine {engine.name} needs a payload or a command")
    return (
        engine.program,
        *engine.arguments,
        *_flag(engine.flags.model, str(main)),
        *_window(entry, engine, engine.flags),
        *_names(entry, engine, engine.flags),
        *_projector(engine.flags, files),
        *_flag(engine.flags.port, PORT),
    )


def _flag(name: str, value: str) -> tuple[str, ...]:
    return (name, value) if name else (value,)


def _window(entry: ModelEntry, engine: Engine, flags: Flags) -> tuple[str, ...]:
    parallel = (flags.parallel, str(entry.parallel))
    if entry.context is None:
        return parallel
    tokens = entry.context * (entry.parallel if engine.total_context else 1)
    return (flags.context, str(tokens), *parallel)


def _names(entry: ModelEntry, engine: Engine, flags: Flags) -> tuple[str, ...]:
    if engine.names_separator is None:
        return (flags.names, *entry.names)
    return (flags.names, engine.names_separator.join(entry.names))


def _projector(flags: Flags, files: tuple[tuple[Path, int], ...]) -> tuple[str, ...]:
    """The half of a vision model that reads images comes as a file of its own."""
    found = [str(path) for path, _ in files if _is_projector(path)]
    return (flags.projector, found[0]) if flags.projector and found else ()


def _main_file(files: tuple[tuple[Path, int], ...]) -> Path | None:
    """The first file by name, which for a split model is its first shard."""
    return min((path for path, _ in files if not _is_projector(path)), default=None)


def _is_projector(path: Path) -> bool:
    return path.name.startswith("mmproj")


def _wrong(entry: ModelEntry, message: str) -> UsageError:
    return UsageError(f"{entry.id}: {message}", hint="correct the model", place="MESH_MODELS")
