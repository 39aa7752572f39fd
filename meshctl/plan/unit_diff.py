"""What a plan shows of a unit: key by key, whatever the order, secrets by their names. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from meshctl.engines.masking import MASK, masked
from meshctl.plan.change import Change
from meshctl.plan.unit_text import Entry, read, words

PAIRS = ("Environment", "Label", "Annotation")
"""NAME=VALUE: each name is a key of its own, and the last one said holds."""
_ONE = (
    "Description",
    "Image",
    "ContainerName",
    "Pull",
    "LogDriver",
    "Entrypoint",
    "Exec",
    "ShmSize",
    "Notify",
    "HealthCmd",
    "HealthInterval",
    "HealthTimeout",
    "HealthStartPeriod",
    "Type",
    "Restart",
    "RestartSec",
    "TimeoutStartSec",
    "TimeoutStopSec",
    "OOMScoreAdjust",
    "StartLimitIntervalSec",
    "StandardOutput",
    "StandardError",
)
"""Of these the last one said holds; of all others each one counts."""
_ORDERED = ("ExecStart", "ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost", "ExecReload")
_NAMES_ONLY = ("Secret", "EnvironmentFile")
"""They say where a secret is, never what."""
_FILES = ("EnvironmentFile",)
"""Where two name one variable, the later file wins: their order counts."""


def unit_diff(before: str | None, after: str) -> tuple[Change, ...]:
    """Every key that differs, sorted; none when both say the same in another order, or by other
    comments. `before` is None for a unit that is not there yet."""
    old, new = _meaning(before or ""), _meaning(after)
    paths = sorted(old.keys() | new.keys())
    return tuple(change for path in paths for change in _changes(path, old, new))


Meaning = dict[str, tuple[str, ...]]


def _changes(path: str, old: Meaning, new: Meaning) -> Iterator[Change]:
    was, will = old.get(path, ()), new.get(path, ())
    if was == will:
        return
    if (len(was) <= 1 and len(will) <= 1) or path.rpartition(".")[2] in (*_ORDERED, *_FILES):
        yield Change(path=path, before=_shown(path, was), after=_shown(path, will))
        return
    for value in sorted((Counter(was) - Counter(will)).elements()):
        yield Change(path=path, before=_shown(path, (value,)), after=None)
    for value in sorted((Counter(will) - Counter(was)).elements()):
        yield Change(path=path, before=None, after=_shown(path, (value,)))


def _meaning(text: str) -> Meaning:
    """What is said under each key; a list is sorted where its order says nothing."""
    found: dict[str, list[str]] = {}
    for entry in read(text):
        for path, value in _said(entry):
            if not value and entry.key not in PAIRS:
                found[path] = []  # an empty value forgets what was said before
            elif entry.key in _ONE or entry.key in PAIRS:
                found[path] = [value]
            else:
                found.setdefault(path, []).append(value)
    kept = (*_ORDERED, *_FILES)
    return {
        path: tuple(values if path.rpartition(".")[2] in kept else sorted(values))
        for path, values in found.items()
        if values
    }


def _said(entry: Entry) -> Iterator[tuple[str, str]]:
    path = f"{entry.section}.{entry.key}"
    if entry.key not in PAIRS:
        yield path, entry.value
        return
    for word in words(entry.value):
        name, _, value = word.partition("=")
        value = value.replace("%%", "%")
        yield f"{path}.{name}", value.replace("$$", "$") if entry.section == "Container" else value


def _shown(path: str, values: tuple[str, ...]) -> str | None:
    """As text; a live unit may hold a token in clear, and a plan must not print it on."""
    if not values:
        return None
    text = "; ".join(values)
    name = path.rpartition(".")[2]
    if name in _NAMES_ONLY:
        return text
    line = masked(f"{name}={text}")
    return line.removeprefix(f"{name}=") if line.startswith(f"{name}=") else MASK
