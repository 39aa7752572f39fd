"""What a mesh is told by its environment, checked before anything starts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meshctl.errors import UsageError
from meshctl.mesh.asked import is_model_name
from meshctl.mesh.keys import Keys, read_keys, read_peer_key
from meshctl.mesh.lane import Rules
from meshctl.mesh.router import Local, Unknown, route
from meshctl.quantities import parse_bytes, parse_seconds
from meshctl.secret import Secret
from meshctl.spec.federation import PeerEntry, parse_peers
from meshctl.spec.registry import ModelEntry, parse_models

LEVELS = ("error", "warning", "info", "debug")
FORMS = ("text", "json")
LEAST_S = 0.001
"""No event loop tells shorter times apart: it would run without a pause."""
LONGEST_SOCKET = 107
"""Bytes of the path of a unix socket on Linux, its final NUL left out."""


@dataclass(frozen=True)
class SwitchPlace:
    """Where the backends of a front are ordered, and where it keeps what was ordered."""

    socket: Path
    file: Path


@dataclass(frozen=True)
class Settings:
    """One mesh: what it serves, from where, and what it says it is."""

    models: tuple[ModelEntry, ...]
    peers: tuple[PeerEntry, ...]
    default_model: str | None
    models_dir: Path
    engine_dir: Path
    release: str
    revision: str
    log: str
    log_form: str
    keys: Keys
    peer_key: Secret | None
    port: int
    load_timeout_s: float
    rules: Rules
    metadata_host: str | None
    keepalive_s: float
    grace_s: float
    connect_retries: int
    connect_backoff_s: float
    peer_timeout_s: float
    silence_s: float
    answer_s: float
    switch: SwitchPlace | None = None
    cache_bytes: int | None = None
    """Room for fetched payloads; None is as much as the disk has."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Settings from the variables of the process. Raises UsageError for what cannot be meant."""
    models = parse_models(environ.get("MESH_MODELS", ""))
    peers = parse_peers(environ.get("MESH_FEDERATION_PEERS", ""))
    switch = _switch_place(environ)
    if not models and not peers and not switch:
        raise UsageError(
            "nothing to serve: MESH_MODELS and MESH_FEDERATION_PEERS are empty",
            hint="meshctl writes both; by hand, see docs/mesh.md",
            place="MESH_MODELS",
        )
    return Settings(
        models=models,
        peers=peers,
        default_model=_default_model(environ, models, peers, later=switch is not None),
        models_dir=_folder(environ, "MESH_MODELS_DIR", default="models"),
        engine_dir=_folder(environ, "MESH_ENGINE_DIR", default="engine"),
        release=_header(environ, "MESH_RELEASE"),
        revision=_header(environ, "K_REVISION"),
        log=_choice(environ, "MESH_LOG", LEVELS, default="info"),
        log_form=log_form(environ),
        keys=read_keys(environ.get("MESH_API_KEYS")),
        peer_key=read_peer_key(environ.get("MESH_PEER_KEY")),
        port=_port(environ.get("PORT", "8080")),
        load_timeout_s=_seconds(environ, "MESH_LOAD_TIMEOUT", default="10m"),
        rules=_rules(environ),
        metadata_host=_metadata_host(environ),
        keepalive_s=_seconds(environ, "MESH_KEEPALIVE", default="10s"),
        grace_s=_seconds(environ, "MESH_KEEPALIVE_GRACE", default="250ms"),
        connect_retries=_count(environ, "MESH_PROXY_CONNECT_RETRIES", default="8", most=100),
        connect_backoff_s=_count(
            environ, "MESH_PROXY_CONNECT_BACKOFF_MS", default="500", most=60_000
        )
        / 1000,
        peer_timeout_s=_seconds(environ, "MESH_PEER_TIMEOUT", default="10m"),
        silence_s=_seconds(environ, "MESH_SILENCE", default="10m"),
        answer_s=_seconds(environ, "MESH_ANSWER", default="60m"),
        switch=switch,
        cache_bytes=_bytes(environ, "MESH_CACHE"),
    )


def _switch_place(environ: Mapping[str, str]) -> SwitchPlace | None:
    """Both or none: a front that forgets who serves would serve nobody after a restart."""
    names = ("MESH_ADMIN_SOCKET", "MESH_SWITCH_FILE")
    given = [name for name in names if environ.get(name)]
    if not given:
        return None
    for name in names:
        if name not in given:
            raise _wrong(name, f"is not set, and {given[0]} is")
        if not Path(environ[name]).is_absolute():
            raise _wrong(name, f"{environ[name]!r} is not an absolute path")
    socket, file = (Path(environ[name]) for name in names)
    if len(str(socket).encode()) > LONGEST_SOCKET:
        raise _wrong(names[0], f"is longer than {LONGEST_SOCKET} bytes, the most of a socket")
    if socket == file:
        raise _wrong(names[1], "is the path of the socket, too")
    return SwitchPlace(socket, file)


def log_form(environ: Mapping[str, str]) -> str:
    """Cloud Run, which sets K_SERVICE, takes JSON lines apart. Raises UsageError."""
    usual = "json" if environ.get("K_SERVICE") else "text"
    return _choice(environ, "MESH_LOG_FORMAT", FORMS, default=usual)


def _rules(environ: Mapping[str, str]) -> Rules:
    """How models take turns; `0s` is allowed: then none is kept, or nobody waits for others."""
    usual = Rules()
    return Rules(
        queue=_queue(environ, usual.queue),
        min_residency_s=_duration(
            environ, "MESH_MIN_RESIDENCY", default=f"{usual.min_residency_s:g}s"
        ),
        max_wait_s=_duration(environ, "MESH_MAX_WAIT", default=f"{usual.max_wait_s:g}s"),
    )


def _queue(environ: Mapping[str, str], usual: int) -> int:
    """Who needs a load has to wait for it, so with no place at all no second model would load."""
    queue = _count(environ, "MESH_QUEUE", default=str(usual), most=100_000)
    if queue == 0:
        raise _wrong("MESH_QUEUE", "is 0, and who waits for a load needs a place; at least 1")
    return queue


def _default_model(
    environ: Mapping[str, str],
    models: tuple[ModelEntry, ...],
    peers: tuple[PeerEntry, ...],
    *,
    later: bool,
) -> str | None:
    """`later`: a backend may bring a model that nobody has yet."""
    declared = next((entry.id for entry in models if entry.default), None)
    asked = environ.get("MESH_DEFAULT_MODEL") or None
    if asked is None:
        return declared or _only(models)
    if not is_model_name(asked):  # a peer that takes any model would be sent it
        raise _wrong("MESH_DEFAULT_MODEL", f"{asked!r} is not the name of a model")
    found = route(asked, models, peers)
    if isinstance(found, Unknown) and not later:
        raise _wrong("MESH_DEFAULT_MODEL", f"neither a model here nor a peer's: {asked!r}")
    name = found.model.id if isinstance(found, Local) else asked
    if declared not in (None, name):
        raise _wrong("MESH_DEFAULT_MODEL", f"{asked!r} contradicts MESH_MODELS, {declared!r} there")
    return name


def _only(models: tuple[ModelEntry, ...]) -> str | None:
    """The single model; None for a mesh that only forwards. Several need a choice."""
    if len(models) > 1:
        raise _wrong("MESH_DEFAULT_MODEL", "several models and none is the default")
    return models[0].id if models else None


def _header(environ: Mapping[str, str], name: str) -> str:
    """A value that travels in a response header."""
    value = environ.get(name, "")
    if not value.isascii() or not value.isprintable():
        raise _wrong(name, f"{value!r} cannot travel in a header")
    return value


def _choice(
    environ: Mapping[str, str], name: str, allowed: tuple[str, ...], *, default: str
) -> str:
    value = environ.get(name, default)
    if value not in allowed:
        raise _wrong(name, f"{value!r} is not one of {', '.join(allowed)}")
    return value


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise _wrong("PORT", f"{text!r} is not a port from 1 to 65535")
    return int(text)


def _folder(environ: Mapping[str, str], name: str, *, default: str) -> Path:
    """An empty one would be the working folder, whatever lies there."""
    given = environ.get(name, default)
    if not given.strip():
        raise UsageError(f"{name} is empty", hint="name a folder, or leave it out", place=name)
    return Path(given)


def _seconds(environ: Mapping[str, str], name: str, *, default: str) -> float:
    seconds = _duration(environ, name, default=default)
    if seconds <= 0:
        raise _wrong(name, "must be longer than nothing")
    if seconds < LEAST_S:
        raise _wrong(name, "is shorter than 1ms, the least that is timed")
    return seconds


def _bytes(environ: Mapping[str, str], name: str) -> int | None:
    try:
        return parse_bytes(environ[name]) if environ.get(name) else None
    except ValueError as error:
        raise _wrong(name, str(error)) from None


def _duration(environ: Mapping[str, str], name: str, *, default: str) -> float:
    try:
        return parse_seconds(environ.get(name, default))
    except ValueError as error:
        raise _wrong(name, str(error)) from None


def _count(environ: Mapping[str, str], name: str, *, default: str, most: int) -> int:
    text = environ.get(name, default)
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= most):
        raise _wrong(name, f"{text!r} is not a whole number from 0 to {most}")
    return int(text)


def _metadata_host(environ: Mapping[str, str]) -> str | None:
    """Where identity tokens for private peers come from: named, or Cloud Run's own; else none."""
    if "GCE_METADATA_HOST" in environ:
        return environ["GCE_METADATA_HOST"]
    return "metadata.google.internal" if environ.get("K_REVISION") else None


def _wrong(name: str, message: str) -> UsageError:
    return UsageError(f"{name}: {message}", hint=f"set {name} anew", place=name)
