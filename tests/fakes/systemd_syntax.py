"""Reads unit text as systemd and podman's quadlet do, written from their sources, not from ours.

systemd: extract-word.c (UNQUOTE, CUNESCAPE), specifier.c (`%%`), env-util.c (`$$`); quadlet:
pkg/systemd/parser/split.go, which reads words and writes them again.
"""

from __future__ import annotations

import re

_LETTERS = dict(zip("abfnrtvs", "\a\b\f\n\r\t\v ", strict=True))


def split(text: str, *, as_quadlet: bool = False) -> list[str]:
    """Words; raises ValueError where systemd ignores the line."""
    found: list[str] = []
    word: str | None = None
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            piece, at = _escape(text, at)
            word = (word or "") + piece
        elif quote:
            quote, word = ("", word) if char == quote else (quote, (word or "") + char)
        elif char in "\"'":
            quote, word = char, word or ""
        elif char in " \t\n\r":
            if word is not None:
                if word == "" and as_quadlet:
                    return found  # quadlet takes an empty word for the end
                found.append(word)
            word = None
        else:
            word = (word or "") + char
    if quote:
        raise ValueError("a quote does not end")
    return found if word is None else [*found, word]


def _escape(text: str, at: int) -> tuple[str, int]:
    if match := re.compile(r"x([0-9a-fA-F]{2})").match(text, at):
        code = int(match[1], 16)
        if code == 0 or code > 0x7F:
            raise ValueError("a byte that is no text")
        return chr(code), match.end()
    if at < len(text) and text[at] in "\\\"'":
        return text[at], at + 1
    if at < len(text) and text[at] in _LETTERS:
        return _LETTERS[text[at]], at + 1
    raise ValueError("an unknown escape")


def quadlet_joins(words: list[str]) -> str:
    """escapeWords of split.go."""
    return " ".join(_again(word) for word in words)


def _again(word: str) -> str:
    if not any(ord(c) <= 128 and (c.isspace() or ord(c) < 32 or ord(c) >= 127 or c in "\"'\\")
               for c in word):  # fmt: skip
        return word
    short = {"\\": "\\\\", '"': '\\"'} | {v: f"\\{k}" for k, v in _LETTERS.items() if k != "s"}
    hexed = {chr(c): f"\\x{c:02x}" for c in (*range(1, 32), 127, 128)}
    return '"' + "".join((hexed | short).get(char, char) for char in word) + '"'


def specifiers(word: str) -> str:
    """Raises ValueError at any specifier but `%%`."""
    if re.search(r"%(?!%)", word.replace("%%", "")):
        raise ValueError("systemd would fill something in")
    return word.replace("%%", "%")


def dollars(word: str) -> str:
    """Raises ValueError where systemd would put a variable."""
    if re.search(r"\$[{A-Za-z_]", word.replace("$$", "")):
        raise ValueError("systemd would fill a variable in")
    return word.replace("$$", "$")


def command_line(value: str) -> list[str]:
    """The argv that systemd makes of ExecStart=."""
    return [dollars(specifiers(word)) for word in split(value)]


def through_quadlet(value: str) -> list[str]:
    """The argv that comes of words in [Container], by way of the generated ExecStart=."""
    joined = quadlet_joins(split(value, as_quadlet=True))
    return command_line(joined)
