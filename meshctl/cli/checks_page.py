"""The page of docs/ that says what a release is asked: made from the checks themselves."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from meshctl.spec import batteries
from meshctl.verify import judge
from meshctl.verify.check import Check
from meshctl.verify.checks import CHECKS

INTRODUCTION = """\
`checks:` of a service names batteries or single checks; `verify --only` picks some of them. What
they may take is set by `rollout.token_deadline` and `rollout.confirm`.
"""
CAPABILITIES = """\
The capabilities of a model (`capabilities: [tools, reasoning, vision, json]`) add nothing yet: no
check of this version asks for them. They are part of the release id all the same.
"""


def checks_page(made: str) -> str:
    """Batteries, checks and the policy; `made` says where the page comes from."""
    lines = ["# Checks and batteries", "", made, "", INTRODUCTION]
    lines += ["## Batteries", "", "| battery | checks, in the order they are asked |", "|---|---|"]
    lines += [f"| `{name}` | {_listed(names)} |" for name, names in batteries.BATTERIES.items()]
    lines += ["", _said_of_batteries(), "", CAPABILITIES, "## Checks", ""]
    for check in CHECKS.values():
        lines += [f"### {check.name}", "", _without_purity(_docstring(check)), ""]
    lines += ["## When a check is asked again", "", _without_purity(judge.__doc__ or "")]
    return "\n".join(lines).rstrip() + "\n"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none: it adds nothing yet"


def _docstring(check: Check) -> str:
    module = inspect.getmodule(check.judge)
    return (module.__doc__ if module else "") or ""


def _without_purity(text: str) -> str:
    """Pure is a word for those who read the code."""
    return inspect.cleandoc(text.replace(" Pure.", "", 1))


def _said_of_batteries() -> str:
    """The text below BATTERIES in its module, where the list itself is."""
    body = ast.parse(inspect.getsource(batteries)).body
    texts = [
        below.value.value
        for here, below in pairwise(body)
        if isinstance(here, ast.AnnAssign) and isinstance(below, ast.Expr)
        if isinstance(below.value, ast.Constant)
    ]
    return inspect.cleandoc(str(texts[0])).partition("\n\n")[2].replace("\nmesh:", "\n\nmesh:")
