"""Typer groups that import a command only when it is the one that was asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from meshctl.cli.settings import OPTIONS, Option
from meshctl.cli.table import COMMANDS, SECTIONS, Command, Group
from meshctl.errors import Interrupted, UsageError

HELP_NAMES = ["-h", "--help"]
_ALWAYS = [("-h, --help", "Say how a command is used."), ("--version", "Say which meshctl it is.")]
GLOBALS_WORK_HERE = "Global options work here too; `meshctl --help` lists them."


class LazyGroup(TyperGroup):
    """Names and one-line helps come from the table; `get_command` imports exactly one module."""

    def __init__(self, entries: Sequence[Command | Group], **attrs: Any) -> None:
        super().__init__(rich_markup_mode=None, **attrs)
        self.entries = {entry.name: entry for entry in entries}

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = self.entries.get(cmd_name)
        if isinstance(entry, Group):
            return group(entry)
        return command(entry) if entry else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            raise UsageError(
                f"`{ctx.command_path}` needs a command",
                hint=f"one of: {', '.join(self.entries)}; see `{ctx.command_path} --help`",
            )
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.entries:
            raise unknown_command(ctx.command_path, args[0], self.entries)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted("interrupted") from stop

    def format_options(self, ctx: Any, formatter: Any) -> None:
        if ctx.parent is None:
            with formatter.section("Global options, before or after the command"):
                formatter.write_dl([*((spelled(o), o.help) for o in OPTIONS), *_ALWAYS])
        for title in SECTIONS if ctx.parent is None else ("",):
            rows = [(e.name, e.help) for e in self.entries.values() if e.section == title]
            if rows:
                with formatter.section(title or "Commands"):
                    formatter.write_dl(rows)


def unknown_command(path: str, name: str, known: Any) -> UsageError:
    """The error for a verb that is not there, with near names."""
    from meshctl.spec.near import near

    return UsageError(
        f"`{path}` has no command {name!r}", hint=f"{near(name, known)}; see `{path} --help`"
    )


def spelled(option: Option) -> str:
    """`-o, --output FORMAT`."""
    return f"{', '.join(option.names)} {option.metavar}".strip()


def root(entries: Sequence[Command | Group] = COMMANDS) -> LazyGroup:
    """The whole command line. A command's own options are also MESHCTL_VERB_OPTION."""
    return LazyGroup(
        entries,
        name="meshctl",
        help="Operate a fleet of LLM endpoints from one YAML file.",
        epilog="Each option is also a variable: MESHCTL_OUTPUT=json, MESHCTL_CUTOVER_STEPS=5,100.",
        options_metavar="",
        context_settings={
            "help_option_names": HELP_NAMES,
            "auto_envvar_prefix": "MESHCTL",
            "max_content_width": 80,
        },
    )


def group(entry: Group) -> LazyGroup:
    """The verbs of one noun."""
    return LazyGroup(entry.commands, name=entry.name, help=entry.help, options_metavar="")


def command(entry: Command) -> TyperCommand:
    """Import the function of one verb and let typer read its signature."""
    module, _, name = entry.function.partition(":")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(entry.name, epilog=GLOBALS_WORK_HERE)(
        getattr(importlib.import_module(module), name)
    )
    made = get_command(app)
    assert isinstance(made, TyperCommand)
    for param in made.params:
        if isinstance(param, TyperOption):
            param.show_envvar = False  # said once for all of them, below the list of commands
    return made
