"""Composes YAML text into a tree with places, and refuses what a fleet file may not hold. Pure.

Read from the parser's events, not from its ready values: YAML 1.1 makes 1342 of `22:22`, False of
`no` and 15 of `017`, lets a key pass twice, and lets ten lines of aliases grow to gigabytes. Here a
plain scalar stays the text that was written; only `null`, `~` and nothing at all mean None. There
is no recursion, so that hostile nesting meets the cap and not the end of the stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from meshctl.errors import Problem, SpecError
from meshctl.spec.scalars import shown
from meshctl.spec.tree import Node

MAX_CHARACTERS = 4 * 2**20
"""A fleet of 1,000 services is about 0.5 MiB."""
MAX_DEPTH = 32
"""The deepest key of the format is at 6."""
MAX_ALIASED = 100_000
"""Nodes that aliases may add to the tree, all together."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Noun(NamedTuple):
    """What such a file is called, how one is begun, and what it says first."""

    name: str
    begun: str
    first: str


FLEET = Noun("fleet file", "start with `meshctl config example`", "it begins with `meshctl: 1`")


def compose(text: str, file: str, noun: Noun = FLEET) -> tuple[Node, list[Problem]]:
    """The tree of `text`, and what was left out of it because it may not stand there.

    Raises SpecError when there is no tree to go on with: broken YAML, unprintable characters, an
    empty file, several documents, or more than the caps above allow.
    """
    text = text.removeprefix("\ufeff")
    _check_characters(text, file, noun)
    builder = _Builder(file)
    for event in _events(text, file):
        builder.take(event)
    if builder.root is None or builder.root.value is None:
        raise _error(file, 1, 1, "the file is empty", noun.begun)
    if not isinstance(builder.root.value, dict):
        raise _error(file, 1, 1, f"a {noun.name} is a mapping of keys", noun.first)
    return builder.root, builder.problems


def _check_characters(text: str, file: str, noun: Noun) -> None:
    if len(text) > MAX_CHARACTERS:
        raise _error(
            file, 1, 1, f"the file is longer than {MAX_CHARACTERS:,} characters", "split it"
        )
    bad = _UNPRINTABLE.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        column = bad.start() - text.rfind("\n", 0, bad.start())
        what = f"the character U+{ord(bad[0]):04X} may not stand in a {noun.name}"
        raise _error(file, line, column, what, "save the file as UTF-8 text")


def _events(text: str, file: str) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from yaml.parse(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _error(file, line, column, *_syntax(error, text, line, column)) from None


def _syntax(error: Any, text: str, line: int, column: int) -> tuple[str, str]:
    said = " ".join(part for part in (error.context, error.problem) if part)
    lines = text.splitlines()
    here = lines[line - 1][column - 1 : column] if line <= len(lines) else ""
    hint = "indent with spaces, not with tabs" if here == "\t" else "look at this line and above it"
    return f"this is not YAML: {said}", hint


def _error(file: str, line: int, column: int, message: str, hint: str) -> SpecError:
    return SpecError((Problem(f"{file}:{line}:{column}", "", message, hint),))


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    value: dict[str, Node] | list[Node]
    line: int
    column: int
    anchor: str | None
    key: Node | None = None
    size: int = 1
    height: int = 1


@dataclass(slots=True)
class _Builder:
    """Takes the events of one document, in order, and keeps the tree that they make."""

    file: str
    root: Node | None = None
    problems: list[Problem] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Node, int, int]] = field(default_factory=dict)
    aliased: int = 0
    documents: int = 0

    def take(self, event: Any) -> None:
        match type(event).__name__:
            case "ScalarEvent":
                self._scalar(event)
            case "MappingStartEvent":
                self._open(event, {})
            case "SequenceStartEvent":
                self._open(event, [])
            case "MappingEndEvent" | "SequenceEndEvent":
                self._close()
            case "AliasEvent":
                self._alias(event)
            case "DocumentStartEvent":
                self._document(event)

    def _document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._stop(event, "a second document begins here", "one file is one fleet")

    def _scalar(self, event: Any) -> None:
        self._refuse_tag(event)
        plain = not event.style
        nothing = plain and event.value in ("", "~", "null")
        mark = event.start_mark
        node = Node(None if nothing else event.value, mark.line + 1, mark.column + 1)
        if plain and event.value == "<<" and self._awaits_key():
            self._problem(
                event, "merge keys (<<) are not read here", "use `like`, or a plain alias"
            )
        self._place(node, event.anchor, 1, 1)

    def _open(self, event: Any, value: dict[str, Node] | list[Node]) -> None:
        self._refuse_tag(event)
        if len(self.stack) >= MAX_DEPTH:
            raise self._stop(event, f"more than {MAX_DEPTH} levels deep", "no key stands so deep")
        mark = event.start_mark
        self.stack.append(_Open(value, mark.line + 1, mark.column + 1, event.anchor))

    def _close(self) -> None:
        done = self.stack.pop()
        node = Node(done.value, done.line, done.column)
        self._place(node, done.anchor, done.size, done.height)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            message = f"*{event.anchor} stands before its &{event.anchor}, or inside it"
            raise self._stop(event, message, "an alias follows what it repeats")
        node, size, height = self.anchors[event.anchor]
        self.aliased += size
        if self.aliased > MAX_ALIASED or len(self.stack) + height > MAX_DEPTH:
            raise self._stop(event, "the aliases unfold to too much", "write less with aliases")
        self._place(node, None, size, height)

    def _place(self, node: Node, anchor: str | None, size: int, height: int) -> None:
        if anchor:
            self.anchors[anchor] = (node, size, height)
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.size += size
        parent.height = max(parent.height, height + 1)
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif parent.key is None:
            parent.key = node
        else:
            self._pair(parent.value, parent.key, node)
            parent.key = None

    def _pair(self, mapping: dict[str, Node], key: Node, node: Node) -> None:
        if not isinstance(key.value, str):
            self._note(key, "a key must be text", 'write it in quotes, as in "null": 1')
        elif key.value in mapping:
            first = mapping[key.value].place(self.file)
            self._note(
                key, f"the key {shown(key.value)} stands twice; first at {first}", "keep one"
            )
        elif key.value != "<<":
            mapping[key.value] = Node(node.value, key.line, key.column)

    def _awaits_key(self) -> bool:
        return (
            bool(self.stack) and isinstance(self.stack[-1].value, dict) and not self.stack[-1].key
        )

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            self._problem(
                event, f"the tag {shown(event.tag)} is not read here", "write the bare value"
            )

    def _problem(self, event: Any, message: str, hint: str) -> None:
        self._note(
            Node(None, event.start_mark.line + 1, event.start_mark.column + 1), message, hint
        )

    def _note(self, at: Node, message: str, hint: str) -> None:
        self.problems.append(Problem(at.place(self.file), "", message, hint))

    def _stop(self, event: Any, message: str, hint: str) -> SpecError:
        mark = event.start_mark
        return _error(self.file, mark.line + 1, mark.column + 1, message, hint)
