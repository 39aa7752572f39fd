"""The MESH_MODELS document: which models a mesh serves, from which files, with which engine. Pure.

The release id covers this document, so it holds the sha256 of every payload file and the declared
capabilities. Defaults are left out of the text: a key added later does not change old releases.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from meshctl.errors import Problem, SpecError
from meshctl.quantities import parse_seconds
from meshctl.spec.sources import FETCHABLE, file_source, parse_source

if TYPE_CHECKING:  # building the fleet's types takes 80 ms, which a starting mesh does not have
    from meshctl.spec.model import Fleet, Payload, Service

VARIABLE = "MESH_MODELS"
MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/@~-]{0,199}$"
"""What clients may send as `model`: safe in a header, free of the compact peers' separators."""
FOLDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$"
LONGEST_S = 86400.0
"""A day: no load, no stop and no idle model is waited for longer."""


class Entry(BaseModel):
    """Immutable, strict about types, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _inside(path: str) -> str:
    parts = path.split("/")
    if PurePosixPath(path).is_absolute() or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{path!r} is not a path inside the payload's folder")
    return _text(path)


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("a NUL character cannot be handed to a process")
    return value


def _fetchable(source: str) -> str:
    if parse_source(source).scheme not in FETCHABLE:
        raise ValueError(f"can be fetched: {', '.join(f'{scheme}:' for scheme in FETCHABLE)}")
    return _text(source)


def _seconds(value: Any) -> Any:
    return parse_seconds(value) if isinstance(value, str) else value


def _spelled(seconds: float) -> str:
    from meshctl.spec.written import duration  # a starting mesh reads durations and writes none

    return duration(seconds)


Text = Annotated[str, AfterValidator(_text)]
Seconds = Annotated[
    float, BeforeValidator(_seconds), PlainSerializer(_spelled, return_type=str, when_used="json")
]
Name = Annotated[str, Field(pattern=MODEL_NAME)]
EnvName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Capability = Literal["tools", "reasoning", "vision", "json"]


class FileEntry(Entry):
    """One file of a payload; `path` is relative to the payload's folder."""

    path: Annotated[str, AfterValidator(_inside)]
    bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    source: Annotated[str, AfterValidator(_fetchable)] | None = None
    """Where the mesh fetches it; None: it is there."""


class ModelEntry(Entry):
    """One model of a mesh; `context` is tokens per request, None leaves it to the engine."""

    id: Name
    aliases: tuple[Name, ...] = ()
    engine: Literal["llama-server", "vllm", "generic"] = "llama-server"
    command: tuple[Text, ...] = ()
    payload: str | None = Field(default=None, pattern=FOLDER_NAME)
    files: tuple[FileEntry, ...] = ()
    context: int | None = Field(default=None, ge=1)
    parallel: int = Field(default=1, ge=1, le=256)
    env: dict[EnvName, Text] = {}
    keepalive: Literal["comment", "chunk", "off"] = "comment"
    group: str = Field(default="gpu", pattern=FOLDER_NAME)
    sets: tuple[Annotated[str, Field(pattern=FOLDER_NAME)], ...] = ()
    pinned: bool = False
    ttl: Seconds | None = Field(default=None, gt=0, le=LONGEST_S)
    load_timeout: Seconds | None = Field(default=None, gt=0, le=LONGEST_S)
    stop_grace: Seconds = Field(default=10.0, gt=0, le=LONGEST_S)
    capabilities: Annotated[frozenset[Capability], PlainSerializer(sorted)] = frozenset()
    default: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every string a client may send for this model, the id first."""
        return (self.id, *self.aliases)

    @model_validator(mode="after")
    def _pinned_alone(self) -> ModelEntry:
        for key, value in (("ttl", self.ttl), ("sets", self.sets)):
            if self.pinned and value:
                raise ValueError(f"a pinned model is always loaded: {key} would mean nothing")
        return self


_DOCUMENT = TypeAdapter(tuple[ModelEntry, ...])


def default_model_of(service: Service) -> str | None:
    """The declared default, or the only model there is; None when nobody chose among several."""
    if service.default_model is not None:
        return service.default_model
    return next(iter(service.models)) if len(service.models) == 1 else None


def registry_of(fleet: Fleet, service: Service) -> tuple[ModelEntry, ...]:
    """The models of a service with the digests of their payloads, sorted by id.

    Raises SpecError for a name no client could send, or a payload the fleet does not declare.
    """
    default = default_model_of(service)
    entries = tuple(
        _entry(fleet, name, service, default=name == default) for name in sorted(service.models)
    )
    _refuse_doubles(entries, place=fleet.file)
    return entries


def _entry(fleet: Fleet, name: str, service: Service, *, default: bool) -> ModelEntry:
    model = service.models[name]
    if model.payload is not None and model.payload not in fleet.payloads:
        message = f"no payload named {model.payload!r}"
        raise SpecError((Problem(fleet.file, f"models.{name}.payload", message),))
    payload = fleet.payloads[model.payload] if model.payload is not None else None
    try:
        return ModelEntry(
            id=name,
            aliases=model.aliases,
            engine=model.engine,
            command=model.command,
            payload=model.payload,
            files=_files(payload, fetched=service.deliver == "fetch") if payload else (),
            context=model.context,
            parallel=model.parallel,
            env=model.env,
            keepalive=model.keepalive,
            group=model.group,
            sets=model.sets,
            pinned=model.pinned,
            ttl=model.ttl,
            load_timeout=model.load_timeout,
            stop_grace=model.stop_grace,
            capabilities=model.capabilities,
            default=default,
        )
    except ValidationError as error:
        raise refusal(error, place=fleet.file, path=lambda _: f"models.{name}") from None


def _files(payload: Payload, *, fetched: bool) -> tuple[FileEntry, ...]:
    source = parse_source(payload.source) if fetched else None
    return tuple(
        FileEntry(
            path=path,
            bytes=file.bytes,
            sha256=file.sha256,
            source=file_source(source, payload.files, path) if source else None,
        )
        for path, file in sorted(payload.files.items())
    )


def render_models(entries: Iterable[ModelEntry]) -> str:
    """Compact JSON with sorted keys; equal entries give equal bytes."""
    values = [entry.model_dump(mode="json", exclude_defaults=True) for entry in entries]
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def parse_models(text: str) -> tuple[ModelEntry, ...]:
    """The document as entries; empty text is none. Raises SpecError that names every bad entry."""
    if not text.strip():
        return ()
    try:
        entries = _DOCUMENT.validate_json(text)
    except ValidationError as error:
        raise refusal(error, place=VARIABLE, path=entry_path(text, "id")) from None
    _refuse_doubles(entries, place=VARIABLE)
    return entries


def _refuse_doubles(entries: tuple[ModelEntry, ...], *, place: str) -> None:
    counts = Counter(name for entry in entries for name in entry.names)
    problems = [
        Problem(place, "", f"{name!r} is the name or alias of more than one model")
        for name, count in counts.items()
        if count > 1
    ]
    defaults = [entry.id for entry in entries if entry.default]
    if len(defaults) > 1:
        problems.append(Problem(place, "", f"only one model is the default, not {defaults}"))
    if problems:
        raise SpecError(tuple(problems))


def entry_path(text: str, key: str) -> Callable[[tuple[int | str, ...]], str]:
    """Shows a location in a JSON array as people find it: `[1] qwen3-8b: context`."""

    def path(location: tuple[int | str, ...]) -> str:
        if not location or not isinstance(location[0], int):
            return ""
        index, rest = location[0], ".".join(str(part) for part in location[1:])
        name = json.loads(text)[index]
        name = name.get(key) if isinstance(name, dict) else None
        printable = isinstance(name, str) and name.isprintable() and len(name) <= 64
        shown = f"[{index}] {name}" if printable else f"[{index}]"
        return f"{shown}: {rest}" if rest else shown

    return path


def refusal(
    error: ValidationError, *, place: str, path: Callable[[tuple[int | str, ...]], str]
) -> SpecError:
    """Every mistake pydantic found, as one SpecError with our places."""
    return SpecError(
        tuple(
            Problem(place, path(found["loc"]), _sentence(found))
            for found in error.errors(include_url=False)
        )
    )


def _sentence(found: Any) -> str:
    message = str(found["msg"]).removeprefix("Value error, ")
    value = repr(found["input"])
    quotable = found["type"] not in ("json_invalid", "missing") and len(value) <= 60
    return f"{message}, not {value}" if quotable and value not in message else message
