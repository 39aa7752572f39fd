"""Finds who speaks of a file: in the texts of units, command lines, env files and scripts. Pure.

A text names a file by its path or its name, that of another part of its set (engines load those by
themselves), or that of a folder it lies in. Every such word counts, wherever it stands: a fallback
in `${MODEL:-old.gguf}` is how the last one was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from meshctl.payloads.split import part_of

_FALLBACK = re.compile(r"\$\{\w+:?[-=+?]")
_BEFORE, _AFTER = r"(?<![\w.-])", r"(?![\w-]|\.\w)"
LONGEST_SAID = 120


@dataclass(frozen=True)
class Text:
    """What one consumer says, and where: a unit, a command line, an env file."""

    where: str
    text: str
    quiet: bool = False
    """It may hold secrets: nothing of it is repeated but the word that was found."""


@dataclass(frozen=True)
class Unsearched:
    """A consumer that there is, and that could not be searched."""

    where: str
    why: str


@dataclass(frozen=True)
class References:
    """What was gathered to be searched. Whoever asks hands it in: this package knows no targets."""

    texts: tuple[Text, ...] = ()
    unsearched: tuple[Unsearched, ...] = ()

    def __add__(self, other: References) -> References:
        return References(self.texts + other.texts, self.unsearched + other.unsearched)


@dataclass(frozen=True)
class Sought:
    """A file, by its path below the folder of the payloads."""

    path: str

    @property
    def names(self) -> tuple[str, ...]:
        """Every word that means it: its name, those of its set, the folders it lies in."""
        *folders, name = self.path.split("/")
        part = part_of(name)
        return (*(part.names() if part else (name,)), *folders)


@dataclass(frozen=True)
class Found:
    """One reference: which file, who, and the words."""

    path: str
    where: str
    said: str


def references_to(sought: Sequence[Sought], texts: Iterable[Text]) -> list[Found]:
    """Each text that speaks of a file, once for each file, in the order of the texts."""
    words = [(one, _words(one.names)) for one in sought]
    return [found for text in texts for found in _in_text(text, words)]


def _in_text(text: Text, sought: Sequence[tuple[Sought, Sequence[str]]]) -> Iterator[Found]:
    """Most texts hold none of the words, which is seen at once."""
    plain = _FALLBACK.sub("${ ", text.text)
    for one, words in sought:
        there = [word for word in words if word in plain]
        if there and (match := _form(there).search(plain)):
            said = match[0] if text.quiet else _line(plain, match)
            yield Found(one.path, text.where, said)


def _words(names: Iterable[str]) -> list[str]:
    """The longest first, for a regular expression takes the first that fits."""
    return sorted({form for name in names for form in _spellings(name)}, key=len, reverse=True)


def _form(words: Iterable[str]) -> re.Pattern[str]:
    either = "|".join(re.escape(word) for word in words)
    return re.compile(f"{_BEFORE}(?:{either}){_AFTER}")


def _spellings(name: str) -> set[str]:
    """As it is, as a shell takes it with backslashes, and as systemd does."""
    escaped = re.sub(r"([^\w./+:@%,-])", r"\\\1", name)
    return {name, escaped, name.replace(" ", "\\x20")}


def _line(text: str, match: re.Match[str]) -> str:
    """The line it stands on, where it is short and shows nothing secret; else the word alone."""
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    line = " ".join(text[start : end if end >= 0 else len(text)].split())
    return line if len(line) <= LONGEST_SAID and _is_harmless(line) else match[0]


def _is_harmless(line: str) -> bool:
    return not re.search(r"(?i)token|secret|passw|api.?key|authorization|hf_", line)
