"""The pages of docs/ that are made from the code."""

from __future__ import annotations

from typing import Any

import typer

from meshctl.cli.lazy import LazyGroup, root, spelled
from meshctl.cli.settings import OPTIONS
from meshctl.cli.table import COMMANDS, SECTIONS, Command, Group
from meshctl.errors import MeshctlError, tree
from meshctl.ui.convert import WORST_FIRST

MADE = "Made by `scripts/reference.py`; a test compares the two."
WIDTH = 80


def pages() -> dict[str, str]:
    """The text of each page by its path from the top of the checkout."""
    from meshctl.cli.checks_page import checks_page
    from meshctl.cli.diagnose_page import diagnose_page
    from meshctl.cli.embedded_page import embedded_page
    from meshctl.cli.json_page import json_page
    from meshctl.spec.reference import markdown

    return {
        "docs/cli.md": cli_page(),
        "docs/exit-codes.md": exit_code_page(),
        "docs/spec.md": markdown(),
        "docs/embedded-cloud.md": embedded_page(MADE),
        "docs/checks.md": checks_page(MADE),
        "docs/json.md": json_page(MADE),
        "docs/diagnose.md": diagnose_page(MADE),
    }


def cli_page() -> str:
    """The global options, then the help of every command, by section."""
    lines = ["# The command line", "", MADE, "", "## Global options", ""]
    lines += ["Before or after the command. An option wins over its variable. An option of one"]
    lines += ["command is a variable, too: `MESHCTL_CUTOVER_STEPS=5,100`.", ""]
    lines += ["| option | variable | |", "|---|---|---|"]
    lines += [f"| `{spelled(o)}` | `{o.variable}` | {o.help} |" for o in OPTIONS]
    app = root()
    context: Any = typer.Context(
        app, info_name="meshctl", terminal_width=WIDTH, **app.context_settings
    )
    for title in SECTIONS:
        entries = [entry for entry in COMMANDS if entry.section == title]
        lines += ["", f"## {title}"] if entries else []
        lines += [line for entry in entries for line in _entry(app, entry, context)]
    return "\n".join(lines) + "\n"


def _entry(app: LazyGroup, entry: Command | Group, context: Any) -> list[str]:
    made = app.get_command(context, entry.name)
    below: Any = typer.Context(made, info_name=entry.name, parent=context)
    path = f"{context.command_path} {entry.name}"
    if isinstance(entry, Group):
        lines = ["", f"### {path}", "", entry.help]
        return lines + [line for sub in entry.commands for line in _entry(made, sub, below)]
    level = "###" if context.parent is None else "####"
    return ["", f"{level} {path}", "", "```text", *made.get_help(below).split("\n"), "```"]


def exit_code_page() -> str:
    """Every exit code with its meaning and the error classes that carry it."""
    ours = [cls for cls in tree() if cls.__module__ == MeshctlError.__module__]
    lines = ["# Exit codes", "", f"{MADE} The class of an error carries its code.", ""]
    lines += ["| code | meaning | classes |", "|---|---|---|"]
    lines += ["| 0 | done as asked, or nothing to do | |"]
    for code in sorted({cls.exit_code for cls in ours} | {2}):
        lines.append(_row(code, [cls for cls in ours if cls.exit_code == code]))
    worst = ", ".join(map(str, WORST_FIRST))
    lines += ["", f"Several services: the worst of {worst}, in this order. A deploy that ended"]
    lines += ["rolled back is never 0. Answering no to a question is 130.", ""]
    lines += ["`python -m meshctl.mesh serve` ends with 1 where an engine or the port failed, too:"]
    lines += ["that is no bug (`docs/mesh.md`).", "", "## Classes", ""]
    lines += [f"- `{cls.__name__}` ({cls.exit_code}): {_sentence(cls)}" for cls in ours]
    return "\n".join(lines) + "\n"


def _row(code: int, classes: list[type[MeshctlError]]) -> str:
    if code == 2:
        return "| 2 | asked with `--exit-code`: there are changes, or there is drift | |"
    names = ", ".join(f"`{cls.__name__}`" for cls in classes)
    return f"| {code} | {classes[0].meaning} | {names} |"


def _sentence(cls: type[MeshctlError]) -> str:
    return " ".join((cls.__doc__ or "").split())
