"""Puts new entries into the text of a fleet file, and leaves every other character as it is. Pure.

Text is added at the end of a section, never rewritten: comments, order and line ends stay. What
cannot be done that way, such as a section in braces, is refused.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from meshctl.errors import Refused
from meshctl.spec.tree import Node, entries, plain
from meshctl.spec.yaml import compose

Sections = Mapping[str, Mapping[str, Any]]
STEP = 2
"""Columns by which a new section's entries are indented."""


def entries_text(new: Mapping[str, Any]) -> str:
    """Entries as YAML in blocks, one below the other, in the order in which they are given."""
    import yaml

    text: str = yaml.dump(
        dict(new), Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=1000
    )
    return text


def _dumper() -> Any:
    """Without anchors: one value in two places is written twice, as people would."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return Plain


def fleet_text(fleet: str, sections: Sections) -> str:
    """A whole new fleet file."""
    blocks = [f"meshctl: 1\nfleet: {fleet}\n", *_blocks(sections)]
    return "\n".join(blocks)


def fragment_text(sections: Sections) -> str:
    """New entries under their sections, to be put into a fleet file by hand."""
    return "\n".join(_blocks(sections))


def _blocks(sections: Sections) -> list[str]:
    return [_block(name, new) for name, new in sections.items() if new]


def _block(section: str, new: Mapping[str, Any]) -> str:
    return f"{section}:\n" + textwrap.indent(entries_text(new), " " * STEP)


def inserted(text: str, file: str, sections: Sections) -> str:
    """The text with the entries in it. Raises Refused for a key that is there already, and for a
    section that has no end to append to; SpecError for a text that is no YAML."""
    result = text
    for section, new in sections.items():
        if new:
            result = _into(result, file, section, new)
    _only_added(text, result, file, sections)
    return result


def _into(text: str, file: str, section: str, new: Mapping[str, Any]) -> str:
    root, _ = compose(text, file)
    _refuse_taken(root, file, section, new)
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    if section not in entries(root):
        end, indent, block = _end(lines, len(lines)), 0, ["", *_block(section, new).splitlines()]
    else:
        end, indent = _last_line(root, lines, section), _indent(root, lines, file, section)
        block = entries_text(new).splitlines()
    added = [" " * indent + line if line else line for line in block]
    return _joined("".join(lines[:end]), added, newline) + "".join(lines[end:])


def _joined(before: str, lines: list[str], newline: str) -> str:
    if before and not before.endswith(("\n", "\r")):
        before += newline
    return before + "".join(line + newline for line in lines)


def _refuse_taken(root: Node, file: str, section: str, new: Mapping[str, Any]) -> None:
    known = entries(entries(root).get(section))
    for name in new:
        if name in known:
            raise Refused(
                f"{section}.{name} is there already, and is never written over",
                place=known[name].place(file),
                hint="choose another key for the service: --key NAME",
            )


def _last_line(root: Node, lines: list[str], section: str) -> int:
    """How many lines there are up to the end of a section; what stands before the next key, such
    as its comment, belongs to that key."""
    begin = entries(root)[section].line
    later = [node.line - 1 for node in entries(root).values() if node.line > begin]
    return _end(lines, min(later, default=len(lines)))


def _end(lines: list[str], end: int) -> int:
    """Back over empty lines, comments at the margin and the mark that ends a document."""
    while end > 0 and (not lines[end - 1].strip() or lines[end - 1].startswith(("#", "..."))):
        end -= 1
    return end


def _indent(root: Node, lines: list[str], file: str, section: str) -> int:
    """The column of the section's entries. Raises Refused for one that is not written in lines."""
    node = entries(root)[section]
    children = entries(node).values()
    if children and all(child.line > node.line for child in children):
        return min(child.column for child in children) - 1
    bare = lines[node.line - 1].partition("#")[0].strip()
    if node.value is None and bare.endswith(":"):
        return STEP
    raise Refused(
        f"`{section}` is not written as one key a line, so nothing can be added at its end",
        place=node.place(file),
        hint="write it in lines, or put in by hand what `meshctl adopt` prints without --write",
    )


def _only_added(before: str, after: str, file: str, sections: Sections) -> None:
    """The proof that nothing else changed: without the new entries both say the same."""
    old, new = plain(compose(before, file)[0]), plain(compose(after, file)[0])
    for section, added in sections.items():
        for name in added:
            new[section].pop(name)
        if not new.get(section) and not old.get(section):
            new.pop(section, None)
            old.pop(section, None)
    if new != old:
        raise Refused(
            "the entries cannot be put into the file without changing what it says",
            place=file,
            hint="put in by hand what `meshctl adopt` prints without --write",
        )
