"""The global options: read from before or after the verb and from MESHCTL_* into Settings.

They are lifted out of the words before typer sees them, so that every command has them without
declaring them. A value that begins with a dash is written `--reason=-x`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from meshctl.errors import UsageError
from meshctl.quantities import parse_seconds

Format = Literal["table", "json", "yaml", "name"]
Given = dict[str, str | None]
"""Options by field as they were written; None where a value was left out."""


@dataclass(frozen=True)
class Settings:
    """What the global options say; None means that neither an option nor a variable was given."""

    fleet: str | None = None
    state: str | None = None
    output: Format = "table"
    yes: bool = False
    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    timeout_s: float | None = None
    lock_wait_s: float = 0.0
    reason: str | None = None


@dataclass(frozen=True)
class Option:
    """One global option; without a metavar it is a flag."""

    names: tuple[str, ...]
    metavar: str
    help: str

    @property
    def key(self) -> str:
        """`--lock-wait` -> `lock_wait`."""
        return self.names[-1].removeprefix("--").replace("-", "_")

    @property
    def variable(self) -> str:
        return f"MESHCTL_{self.key.upper()}"


OPTIONS = (
    Option(("-f", "--fleet"), "FILE", "The fleet file; else ./meshctl.yaml."),
    Option(("--state",), "PLACE", "Where journals are; else as the file says."),
    Option(("-o", "--output"), "FORMAT", "table, json, yaml or name."),
    Option(("-y", "--yes"), "", "Answer yes to every question."),
    Option(("-q", "--quiet"), "", "Say nothing but results and errors."),
    Option(("-v", "--verbose"), "", "Say every call, step and check, and where a bug happened."),
    Option(("--no-color",), "", "No colours; NO_COLOR and pipes do the same."),
    Option(
        ("--timeout",),
        "DURATION",
        "Give up after this long, such as 10m. Heard by deploy, canary, cutover, rollback, "
        "resume, abort and demo.",
    ),
    Option(("--lock-wait",), "DURATION", "Wait this long for a lock; else 0s."),
    Option(("--reason",), "TEXT", "Why, for the record."),
)
_BY_NAME = {name: option for option in OPTIONS for name in option.names}


def names() -> tuple[str, ...]:
    """Every spelling of every global option."""
    return tuple(_BY_NAME)


def lift(words: Sequence[str]) -> tuple[Given, list[str]]:
    """Part the global options from the rest; from `--` on every word is left alone."""
    given: Given = {}
    rest: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return given, [*rest, word, *waiting]
        found = _long(word) if word.startswith("--") else _short(word)
        if not found:
            rest.append(word)
        for option, value in found:
            if option.metavar and value is None and waiting:
                value = waiting.pop(0)
            given[option.key] = value if option.metavar or value is not None else "true"
    return given, rest


def _long(word: str) -> list[tuple[Option, str | None]]:
    name, equals, value = word.partition("=")
    option = _BY_NAME.get(name)
    return [(option, value if equals else None)] if option else []


def _short(word: str) -> list[tuple[Option, str | None]]:
    """`-qy` is two flags, `-ojson` and `-o=json` one value; other letters are left to typer."""
    found: list[tuple[Option, str | None]] = []
    for index, letter in enumerate(word[1:], start=2) if word.startswith("-") else ():
        option = _BY_NAME.get(f"-{letter}")
        if option is None:
            return []
        if option.metavar:
            return [*found, (option, word[index:].removeprefix("=") or None)]
        found.append((option, None))
    return found


def settings_of(given: Given, environ: Mapping[str, str]) -> Settings:
    """Options win over variables. Raises UsageError that names the option or the variable."""
    read = _Reader(given, environ)
    timeout, lock_wait = read.text("timeout"), read.text("lock_wait")
    return Settings(
        fleet=read.text("fleet"),
        state=read.text("state"),
        output=_format(read.text("output"), read.origin("output")),
        yes=read.flag("yes"),
        quiet=read.flag("quiet"),
        verbose=read.flag("verbose"),
        no_color=read.flag("no_color") or bool(environ.get("NO_COLOR")),
        timeout_s=_limit(timeout, read.origin("timeout")) if timeout else None,
        lock_wait_s=_seconds(lock_wait, read.origin("lock_wait")) if lock_wait else 0.0,
        reason=read.text("reason"),
    )


@dataclass(frozen=True)
class _Reader:
    given: Given
    environ: Mapping[str, str]

    def origin(self, key: str) -> str:
        """What to call it in a message: the option, or the variable it came from."""
        option = next(option for option in OPTIONS if option.key == key)
        return option.names[-1] if key in self.given else option.variable

    def text(self, key: str) -> str | None:
        if key not in self.given:
            return self.environ.get(self.origin(key)) or None
        if not self.given[key]:
            raise UsageError(f"{self.origin(key)} needs a value", hint="run `meshctl --help`")
        return self.given[key]

    def flag(self, key: str) -> bool:
        value = self.given.get(key) or self.environ.get(self.origin(key), "")
        if value.lower() not in ("true", "1", "yes", "on", "false", "0", "no", "off", ""):
            raise UsageError(
                f"{self.origin(key)} is {value!r}, which is neither yes nor no",
                hint="write 1 or 0, or leave it out",
            )
        return value.lower() in ("true", "1", "yes", "on")


def _format(text: str | None, origin: str) -> Format:
    for known in get_args(Format):
        if known == (text or "table"):
            return known  # type: ignore[no-any-return]
    from meshctl.spec.near import near

    raise UsageError(f"{origin}: no format {text!r}", hint=near(text or "", get_args(Format)))


def _limit(text: str, origin: str) -> float:
    """A duration that has some length: a limit of nothing would be none."""
    seconds = _seconds(text, origin)
    if seconds <= 0:
        raise UsageError(f"{origin}: {text!r} leaves no time at all", hint="such as 30s or 10m")
    return seconds


def _seconds(text: str, origin: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{origin}: {error}", hint="such as 30s, 10m or 1h30m") from error
