"""Finds the file that people mean: a path, a URL, a source with its scheme, a fleet's payload."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from meshctl.errors import UsageError
from meshctl.outside.ranges import DiskFolder, Folder
from meshctl.outside.ranges_http import web_folder
from meshctl.outside.ranges_open import Doors, open_folder
from meshctl.payloads.inspect import INDEX
from meshctl.payloads.split import part_of
from meshctl.spec.model import Payload
from meshctl.spec.sources import SCHEMES, Source, parse_source

_BESIDE = ("mmproj", "imatrix", "mtp-")
"""How files begin that lie beside a model and are no part of it (facts/budget 1.3)."""


@dataclass(frozen=True)
class Located:
    """A file and the folder it is in."""

    folder: Folder
    name: str


def has_scheme(text: str) -> bool:
    """Whether it is `hub:...`, `s3://...`, `https://...` and the like, and no path."""
    return text.partition(":")[0] in (*SCHEMES, "http") and ":" in text


def locate(text: str, doors: Doors) -> Located:
    """A path of this machine, or a source that names one file. Raises UsageError."""
    if text.startswith(("http:", "https:")):
        return Located(*web_folder(text, doors.http, doors.calls))
    if not has_scheme(text):
        return Located(DiskFolder(Path(text).parent), Path(text).name)
    source = _source(text)
    path, _, name = _path(source).rstrip("/").rpartition("/")
    if not name or (source.scheme == "package" and not source.path):
        raise UsageError("this names no file", place=text, hint="write /FILE behind it")
    return Located(_open(source, path, doors), name)


def locate_payload(payload: Payload, key: str, doors: Doors) -> Located:
    """The model among the files of a payload; the first part of a model in several files."""
    return locate_file(payload, main_file(list(payload.files), key), doors)


def locate_file(payload: Payload, file: str, doors: Doors) -> Located:
    """One of the files of a payload, by its name there."""
    source = parse_source(payload.source)
    path, files = _path(source).rstrip("/"), list(payload.files)
    if len(files) == 1 and (path == files[0] or path.endswith(f"/{files[0]}")):
        path = path.removesuffix(files[0]).rstrip("/")
    folder, _, name = file.rpartition("/")
    return Located(_open(source, f"{path}/{folder}".strip("/") if source.scheme != "file" else
                         f"{path}/{folder}".rstrip("/"), doors), name)  # fmt: skip


def main_file(files: Iterable[str], key: str) -> str:
    """The one that stands for the model. Raises UsageError where there is more than one model."""
    weights = [f for f in files if not f.rpartition("/")[2].lower().startswith(_BESIDE)]
    for file in weights:
        if file.endswith(INDEX):
            return file
    model = [f for f in weights if f.lower().endswith((".gguf", ".safetensors"))] or weights
    sets = {_prefix(file) for file in model}
    if len(sets) != 1:
        raise UsageError(
            f"the payload {key} holds {len(sets)} models: {', '.join(sorted(model)[:4])}",
            place=f"payloads.{key}.files",
            hint="name one of them with its source, such as hub:OWNER/NAME@COMMIT/FILE",
        )
    return min(model)


def _prefix(file: str) -> str:
    part = part_of(file)
    return f"{part.prefix}{part.ending}" if part else file


def _open(source: Source, path: str, doors: Doors) -> Folder:
    if source.scheme == "file":
        return open_folder(Source("file", path or "."), "", doors)
    return open_folder(source, path, doors)


def _path(source: Source) -> str:
    return source.place if source.scheme == "file" else source.path


def _source(text: str) -> Source:
    try:
        return parse_source(text)
    except ValueError as error:
        raise UsageError(str(error), place=text.partition("?")[0], hint="correct it") from error
