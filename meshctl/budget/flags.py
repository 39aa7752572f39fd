"""Reads from an engine's command line how a model is served: what is unknown is named. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from meshctl.engines.serving import Flag, Serving
from meshctl.engines.serving_llama import LLAMA_SERVING
from meshctl.engines.serving_vllm import VLLM_SERVING

SERVING: Mapping[str, Serving] = {"llama-server": LLAMA_SERVING, "vllm": VLLM_SERVING}
"""By the engine's name in a fleet file."""
_PEOPLE = re.compile(r"(\d{1,15})(?:\.(\d{1,6}))?([kKmMgGtT]?)")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
            "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}  # fmt: skip
_NUMBER = re.compile(r"\d{1,15}")
_SHARE = re.compile(r"\d{0,3}(\.\d{1,9})?(?<=\d)")
_TRUE, _FALSE = ("1", "true", "on", "yes", "enabled"), ("0", "false", "off", "no", "disabled")
_IN_VAIN = ("HOST", "PORT", "MODEL", "ALIAS", "THREADS", "ENDPOINT_METRICS", "FIT", "JINJA",
            "LOG_VERBOSITY")  # fmt: skip
"""Variables that nothing hangs on, behind the engine's prefix."""


@dataclass(frozen=True)
class Asked:
    """What a command line says of the serving shape.

    `settings` are texts by the key of the geometry, `written` the flag behind each. `lightened`
    and `burdened` are flags that make the need smaller or larger than is worked out, `wrong` those
    whose value cannot be read, `unread` those that nobody here knows. `shrinks`: why the engine
    may take a shorter context than asked. `others` are all three kinds with their values.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    lightened: tuple[str, ...] = ()
    burdened: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    shrinks: str = ""
    others: tuple[str, ...] = ()


@dataclass
class _Reading:
    serving: Serving
    layers: int
    settings: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    lightened: list[str] = field(default_factory=list)
    burdened: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    shrinks: str = ""
    others: list[str] = field(default_factory=list)
    kept: bool = False


def asked_of(
    serving: Serving, argv: Sequence[str], env: Mapping[str, str], layers: int = 0
) -> Asked:
    """What `argv` and `env` say; a flag goes before its variable, a later one before an earlier.

    `layers` of the model tell whether `-ngl` leaves any of them out.
    """
    reading = _Reading(serving, layers)
    _read_env(reading, env)
    for name, value in _pairs(serving, argv):
        _read(reading, name, value)
    if serving.shrinks_by_default and "context" not in reading.settings and not reading.kept:
        reading.shrinks = "nobody wrote a context, and the engine takes a shorter one that fits"
    return Asked(
        reading.settings, reading.written, tuple(reading.lightened), tuple(reading.burdened),
        tuple(reading.wrong), tuple(dict.fromkeys(reading.unread)), reading.shrinks,
        tuple(reading.others),
    )  # fmt: skip


def _pairs(serving: Serving, argv: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each flag with its value, if it takes one or one seems to follow."""
    bare = serving.bare | {name for flag in serving.sets if flag.form == "switch"
                           for name in flag.names}  # fmt: skip
    at = 0
    while at < len(argv):
        word, at = argv[at], at + 1
        if not _is_flag(word):
            continue
        name, equals, value = word.partition("=") if serving.equals else (word, "", "")
        name = name.replace("_", "-") if name.startswith("--") else name
        if equals:
            yield name, value
        elif name in bare or at == len(argv) or _is_flag(argv[at]):
            yield name, None
        else:
            yield name, argv[at]
            at += 1


def _is_flag(word: str) -> bool:
    """`-1` is a number, and `-` stands for stdin."""
    return word.startswith("-") and word != "-" and not re.fullmatch(r"-[\d.,]+", word)


def _read(reading: _Reading, name: str, value: str | None) -> None:
    serving = reading.serving
    for flag in serving.sets:
        if name in flag.names:
            _set(reading, flag, name, value)
            return
    if serving.keeps.get(name) == value and value is not None:
        reading.kept = True
    if _is_idle(reading, name, value):
        return
    known = name in serving.plain or name in serving.bare
    if not known or name in serving.lightens or name in serving.burdens:
        reading.others.append(f"{name} {value or ''}".rstrip())
    if name in serving.lightens:
        reading.lightened.append(f"{name} {serving.lightens[name]}")
    elif name in serving.burdens:
        reading.burdened.append(f"{name} {serving.burdens[name]}")
    elif not known:
        reading.unread.append(name)


def _is_idle(reading: _Reading, name: str, value: str | None) -> bool:
    """A value with which the flag changes nothing: every layer on the device is what is counted."""
    idle = reading.serving.idle.get(name, frozenset())
    all_layers = "all" in idle and _NUMBER.fullmatch(value or "") and reading.layers
    return value in idle or bool(all_layers and int(value or 0) > reading.layers)


def _set(reading: _Reading, flag: Flag, name: str, value: str | None) -> None:
    shrinks = reading.serving.shrinks.get((name, value or ""))
    if shrinks:
        reading.shrinks = f"{name} {value}: {shrinks}"
    if value in flag.unset and value is not None:
        reading.settings.pop(flag.key, None)
        return
    found = _value(flag, name, value)
    if found is None:
        reading.wrong.append(f"{name} {value or 'without a value'}")
        return
    reading.settings[flag.key] = found
    reading.written[flag.key] = f"{name} {value}" if value is not None else name


def _value(flag: Flag, name: str, value: str | None) -> str | None:
    """The text a geometry file would have; None for what cannot be read."""
    text = value or ""
    match flag.form:
        case "switch":
            return flag.words[name]
        case "word":
            return flag.words.get(text.lower())
        case "number" if text in flag.words:
            return flag.words[text]
        case "number":
            return str(int(text)) if _NUMBER.fullmatch(text) else None
        case "float":
            return text if _SHARE.fullmatch(text) else None
        case "people":
            return _people(text)
        case "json":
            return _inside(flag.inside, text)


def _people(text: str) -> str | None:
    match = _PEOPLE.fullmatch(text)
    if match is None or (match[2] and not match[3]):
        return None
    whole, part, factor = int(match[1]), match[2] or "", _FACTORS[match[3]]
    return str(whole * factor + int(part or 0) * factor // 10 ** len(part))


def _inside(key: str, text: str) -> str | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    number = found.get(key) if isinstance(found, dict) else None
    return str(number) if type(number) is int and number >= 0 else None


def _read_env(reading: _Reading, env: Mapping[str, str]) -> None:
    prefix = reading.serving.prefix
    flags = {flag.env: flag for flag in reading.serving.sets if flag.env}
    for variable, value in sorted(env.items()):
        if not prefix or not variable.startswith(prefix):
            continue
        if variable in flags:
            _set_env(reading, flags[variable], variable, value)
        elif variable.removeprefix(prefix) not in _IN_VAIN:
            reading.unread.append(variable)
            reading.others.append(f"{variable}={value}")
        elif variable == f"{prefix}FIT":
            reading.kept = value.lower() in _FALSE


def _set_env(reading: _Reading, flag: Flag, variable: str, value: str) -> None:
    if flag.form != "switch":
        _set(reading, flag, variable, value)
    elif value.lower() in (*_TRUE, *_FALSE):
        reading.settings[flag.key] = "true" if value.lower() in _TRUE else "false"
        reading.written[flag.key] = f"{variable}={value}"
    else:
        reading.wrong.append(f"{variable}={value}")
