"""The filter language of Logging and Monitoring, as far as it is understood here.

Conditions `FIELD OP VALUE`, joined by AND, a space or a line's end; for `=` the value may be
`("a" OR "b")`. Everything else of the language is refused by name, never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from meshctl.emulator.failures import invalid

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<op>>=|<=|!=|=~|!~|[=<>:])|(?P<paren>[()])"""
    r"""|(?P<word>[\w./%*+-]+))"""
)
_OPERATORS = ("=", "!=", ">=", "<=", ">", "<", ":")
_REFUSED_WORDS = ("OR", "NOT")
SEVERITIES = (
    "DEFAULT",
    "DEBUG",
    "INFO",
    "NOTICE",
    "WARNING",
    "ERROR",
    "CRITICAL",
    "ALERT",
    "EMERGENCY",
)
Token = tuple[str, str]  # kind, text


@dataclass(frozen=True)
class Condition:
    """One comparison; several values mean any of them."""

    field: str
    op: str
    values: tuple[str, ...]

    def holds(self, found: Any) -> bool:
        """Whether a value of a row passes; None is a field that the row does not have."""
        if self.op == "!=":
            return not any(_compare("=", self.field, found, value) for value in self.values)
        return any(_compare(self.op, self.field, found, value) for value in self.values)


def unsupported(what: str) -> Exception:
    """400 INVALID_ARGUMENT that names the part of the filter."""
    return invalid(f"Unparseable filter: {what} is not supported by this server.", "filter")


def parse(text: str, fields: Collection[str]) -> list[Condition]:
    """The conditions of a filter; ApiError 400 names what is not understood."""
    tokens = _tokens(text)
    out: list[Condition] = []
    while tokens:
        if tokens[0] == ("word", "AND") and out:
            tokens.pop(0)
        condition = _condition(tokens)
        if condition.field not in fields:
            raise unsupported(f"the field '{condition.field}'")
        _check_value(condition)
        out.append(condition)
    return out


def _tokens(text: str) -> list[Token]:
    at = 0
    out: list[Token] = []
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise unsupported(f"'{text[at:].split()[0]}'")
        at = match.end()
        kind = match.lastgroup or ""
        found = match.group(kind)
        if kind == "text":
            found = re.sub(r"\\(.)", r"\1", found[1:-1])
        out.append((kind, found))
    return out


def _condition(tokens: list[Token]) -> Condition:
    kind, name = tokens.pop(0)
    if kind != "word" or name in _REFUSED_WORDS or name.startswith("-"):
        raise unsupported(f"'{name}'")
    if not tokens or tokens[0][0] != "op":
        raise unsupported(f"'{name}' without a comparison")
    op = tokens.pop(0)[1]
    if op not in _OPERATORS:
        raise unsupported(f"the operator '{op}'")
    if tokens and tokens[0] == ("paren", "("):
        return Condition(name, op, _group(name, tokens))
    if not tokens or tokens[0][0] not in ("text", "word"):
        raise unsupported(f"'{name}{op}' without a value")
    return Condition(name, op, (tokens.pop(0)[1],))


def _group(name: str, tokens: list[Token]) -> tuple[str, ...]:
    """The values of `("a" OR "b")`."""
    tokens.pop(0)
    values = []
    while tokens and tokens[0][0] in ("text", "word"):
        values.append(tokens.pop(0)[1])
        end = tokens.pop(0) if tokens else ("", "")
        if end == ("paren", ")"):
            return tuple(values)
        if end != ("word", "OR"):
            break
    raise unsupported(f"the group of values of '{name}'")


def _check_value(condition: Condition) -> None:
    for value in condition.values:
        if condition.field == "timestamp" and microseconds(value) is None:
            raise invalid(f"Unparseable filter: '{value}' is not an RFC 3339 time.", "filter")
        if condition.field == "severity" and value.upper() not in SEVERITIES:
            raise invalid(f"Unparseable filter: '{value}' is no severity.", "filter")


def _compare(op: str, field: str, found: Any, value: str) -> bool:
    if found is None:
        return False
    if field == "severity":
        return _ordered(op, SEVERITIES.index(found), SEVERITIES.index(value.upper()))
    if field == "timestamp":
        return _ordered(op, microseconds(found) or 0, microseconds(value) or 0)
    mine, other = str(found).casefold(), value.casefold()
    return other in mine if op == ":" else _ordered(op, mine, other)


def _ordered(op: str, mine: Any, other: Any) -> bool:
    if op in ("=", ":"):
        return bool(mine == other)
    results = {">=": mine >= other, "<=": mine <= other, ">": mine > other, "<": mine < other}
    return bool(results[op])


def microseconds(text: str) -> int | None:
    """Microseconds since the epoch of an RFC 3339 time, None where it is none."""
    # Nanoseconds are cut: Python reads six digits of a fraction.
    short = re.sub(r"(\.\d{6})\d+", r"\1", text)
    try:
        moment = datetime.fromisoformat(short)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
