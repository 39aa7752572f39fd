"""The console entry: words in, one exit code out, and every error told in the same way."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from typer import Abort, Exit, TyperException

from meshctl import __version__
from meshctl.cli.lazy import root
from meshctl.cli.settings import Given, Settings, lift, names, settings_of
from meshctl.cli.table import COMMANDS, Command, Group
from meshctl.errors import Interrupted, MeshctlError, UsageError
from meshctl.outside.environment import environment
from meshctl.outside.pipes import hung_up


def main() -> None:
    """Run the command line of this process and exit with its code."""
    _accept_any_text()
    code = run(sys.argv[1:])
    sys.exit(_flushed(code))


def run(words: Sequence[str], commands: Sequence[Command | Group] = COMMANDS) -> int:
    """Do what the words ask; whatever goes wrong is told here, once."""
    given, rest = lift(words)
    environ = environment()
    settings = _best_guess(given, environ)
    try:
        settings = settings_of(given, environ)
        return _dispatch(rest, settings, commands)
    except MeshctlError as error:
        return _tell(error, settings)
    except (Abort, KeyboardInterrupt):
        return _tell(Interrupted("interrupted"), settings)
    except TyperException as error:
        return _tell(_usage(error), settings)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and (hung_up(sys.stdout) or hung_up(sys.stderr)):
            return 0  # whoever read us has seen enough; another pipe than ours is an error
        return _tell(_bug(error), settings, traceback=settings.verbose)


def _dispatch(words: list[str], settings: Settings, commands: Sequence[Command | Group]) -> int:
    if words[:1] in (["--version"], ["-V"]):
        return _show_version(settings)
    if not words and settings.output == "table":
        words = ["--help"]
    app = root(commands)
    try:
        with app.make_context("meshctl", words, obj=settings) as context:
            code = app.invoke(context)
    except Exit as early:
        return early.exit_code
    return code if isinstance(code, int) else 0


def _show_version(settings: Settings) -> int:
    if settings.output == "table":
        print(f"meshctl {__version__}")
        return 0
    from meshctl.cli.world import output_of
    from meshctl.ui.documents import Version

    output_of(settings).show(Version(version=__version__))
    return 0


def _best_guess(given: Given, environ: dict[str, str]) -> Settings:
    """Settings for telling that the settings are wrong: JSON where JSON was surely asked for."""
    asked = given.get("output") or environ.get("MESHCTL_OUTPUT")
    return Settings(output="json" if asked == "json" else "table", no_color=True)


def _tell(error: MeshctlError, settings: Settings, traceback: bool = False) -> int:
    from meshctl.cli.world import output_of

    if traceback:
        import traceback as tracebacks

        tracebacks.print_exception(error.__cause__, file=sys.stderr)
    output_of(settings).show_error(error)
    return error.exit_code


def _usage(error: TyperException) -> UsageError:
    """Typer's own complaint, with near names and the page to read."""
    context: Any = getattr(error, "ctx", None)
    page = f"see `{context.command_path if context else 'meshctl'} --help`"
    wrong = getattr(error, "option_name", None)
    known = _options(context)
    if wrong is None or context is None or wrong in known:
        return UsageError(" ".join(error.format_message().split()), hint=page)
    from meshctl.spec.near import near

    message = f"`{context.command_path}` has no option {wrong}"
    return UsageError(message, hint=f"{near(wrong, known)}; {page}")


def _options(context: Any) -> list[str]:
    if context is None:
        return []
    own = [name for param in context.command.get_params(context) for name in param.opts]
    return [name for name in (*own, *names(), "--version") if name.startswith("-")]


def _bug(error: Exception) -> MeshctlError:
    told = MeshctlError(
        f"this is a bug in meshctl: {type(error).__name__}: {error}",
        hint="run it again with -v for the traceback, and report it",
    )
    told.__cause__ = error
    return told


def _accept_any_text() -> None:
    """A terminal that cannot show a sign gets `?` in its place, never a crash."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")


def _flushed(code: int) -> int:
    """Flush now, while a closed pipe can still be ignored; Python would complain at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


if __name__ == "__main__":
    main()
