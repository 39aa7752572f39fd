"""Puts values for `${NAME}` into the tree of a fleet file; `$${` is a plain `${`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from meshctl.spec.scalars import shown
from meshctl.spec.tree import Complaint, Node, join

_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def fill(tree: Node, environ: Mapping[str, str]) -> tuple[Node, list[Complaint]]:
    """The tree with every reference replaced, and a complaint for each that cannot be.

    Keys are left alone, and a value that was read is not searched again.
    """
    complaints: list[Complaint] = []
    return _fill(tree, "", environ, complaints), complaints


def _fill(node: Node, path: str, environ: Mapping[str, str], complaints: list[Complaint]) -> Node:
    value = node.value
    if isinstance(value, dict):
        filled = {key: _fill(v, join(path, key), environ, complaints) for key, v in value.items()}
        return node._replace(value=filled)
    if isinstance(value, list):
        items = [_fill(v, join(path, i), environ, complaints) for i, v in enumerate(value)]
        return node._replace(value=items)
    if value is None or "${" not in value:
        return node
    return node._replace(value=_text(value, path, environ, complaints))


def _text(text: str, path: str, environ: Mapping[str, str], complaints: list[Complaint]) -> str:
    def read(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        name = match[1]
        if name is None or not _NAME.fullmatch(name):
            complaints.append(Complaint(path, f"{shown(match[0])} names no variable", _HOW))
        elif name not in environ:
            complaints.append(Complaint(path, f"the variable {name} is not set", f"set {name}"))
        else:
            return environ[name]
        return match[0]

    return _REFERENCE.sub(read, text)


_HOW = "write ${NAME} for a variable, $${ for the two characters themselves"
