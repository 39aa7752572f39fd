"""The text of a unit file: words that arrive unchanged, entries to text, and back. Pure.

Written against systemd.syntax(7), systemd's extract-word.c and specifier.c, and the parser of
podman's quadlet (pkg/systemd/parser), which unquotes words once and quotes them again for systemd.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from meshctl.errors import Refused

LONGEST = 131_071
"""Bytes of one word: Linux's MAX_ARG_STRLEN (32 pages) without the closing zero; execve(2)."""
_SAFE = re.compile(r"[A-Za-z0-9_@./:=,+-]+")
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "%": "%%"}


class Entry(NamedTuple):
    """One assignment of a unit file, its value as it is written there."""

    section: str
    key: str
    value: str


def quoted(text: str, *, dollar: bool) -> str:
    """One word of a unit file. `dollar`: it ends on a command line, where systemd fills in $NAME;
    there a dollar is doubled, in Environment= of a plain unit it stands for itself.

    Raises Refused for what no unit file can carry.
    """
    carried(text)
    if _SAFE.fullmatch(text):
        return text
    return f'"{"".join(_escaped(char, dollar) for char in text)}"'


def raw(text: str) -> str:
    """A value that quadlet takes as it stands, without quotes, for podman's command line."""
    carried(text)
    if text != text.strip() or "\n" in text or text.endswith("\\"):
        raise Refused(f"{text[:60]!r} cannot stand in a quadlet", hint="write it on one line")
    return text.replace("%", "%%").replace("$", "$$")


def line(text: str) -> str:
    """Free text, such as a description: blanks and line ends become one blank."""
    carried(text)
    return " ".join(text.split()).replace("%", "%%")


def carried(text: str) -> None:
    """Refuses what systemd takes for no UTF-8 (it drops the whole line), and what is too long.

    U+0080 is refused too: quadlet writes it as one byte, which is another text. Never shows the
    text: it may be what somebody keeps secret.
    """
    broken = next((char for char in text if _unheard(ord(char))), None)
    if broken is not None:
        message = f"a value holds U+{ord(broken):04X}, which no unit file can carry"
        raise Refused(message, hint="leave that character out, or keep the value in a file")
    if len(text.encode()) > LONGEST:
        message = f"a value of {len(text.encode())} bytes is longer than Linux hands to a program"
        raise Refused(message, hint=f"at most {LONGEST} bytes; keep it in a file")


def _unheard(code: int) -> bool:
    nothing = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF  # Unicode's noncharacters
    return code in (0, 0x80) or 0xD800 <= code <= 0xDFFF or nothing


def _escaped(char: str, dollar: bool) -> str:
    if char == "$":
        return "$$" if dollar else "$"
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{ord(char):02x}" if ord(char) < 0x20 or ord(char) == 0x7F else char


def write(entries: Iterable[Entry]) -> str:
    """The file, section by section in the order in which they first appear."""
    sections: dict[str, list[str]] = {}
    for entry in entries:
        sections.setdefault(entry.section, []).append(f"{entry.key}={entry.value}")
    blocks = ("\n".join((f"[{name}]", *lines)) for name, lines in sections.items())
    return "\n\n".join(blocks) + "\n"


def read(text: str) -> tuple[Entry, ...]:
    """Every assignment of a file, whoever wrote it; what is none is passed over. Never raises."""
    found: list[Entry] = []
    section = ""
    for each in _whole_lines(text):
        if each.startswith("[") and each.endswith("]"):
            section = each[1:-1]
        elif "=" in each:
            key, _, value = each.partition("=")
            found.append(Entry(section, key.strip(), value.strip()))
    return tuple(found)


def _whole_lines(text: str) -> Iterator[str]:
    """Lines joined where a backslash ends them; comments in between are none of them."""
    pending = ""
    for each in map(str.strip, text.split("\n")):
        if each[:1] in ("", "#", ";"):
            continue
        if each.endswith("\\"):
            pending += each[:-1] + " "
        else:
            yield pending + each
            pending = ""
    if pending:
        yield pending


def words(value: str) -> tuple[str, ...]:
    """The words of a value, unquoted, as systemd splits them; the way back of `quoted`, but for
    doubled signs. A quote that never ends takes the rest. Never raises."""
    return tuple(
        "".join(_unescaped(piece) for piece in _PIECE.finditer(word[0]))
        for word in _WORD.finditer(value)
    )


_DOUBLE = r'"((?:[^"\\]|\\.)*)"?'
_SINGLE = r"'((?:[^'\\]|\\.)*)'?"
_BARE = r"""((?:[^\s"'\\]|\\.)+|\\$)"""
_PIECE = re.compile(f"{_DOUBLE}|{_SINGLE}|{_BARE}", re.S)
_WORD = re.compile(f"(?:{_DOUBLE}|{_SINGLE}|{_BARE})+", re.S)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))", re.S)
_ONE = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _unescaped(piece: re.Match[str]) -> str:
    inner = next((group for group in piece.groups() if group is not None), "")
    return _ESCAPE.sub(_meant, inner)


def _meant(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _ONE.get(escape[2], escape[2])
