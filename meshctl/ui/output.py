"""The one way to talk to the operator: stdout is data, stderr is talk.

Text is made without colour by `render`; a terminal gets colours from patterns over that text, so
rich is never imported when the output is piped.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TextIO

from meshctl.errors import Interrupted, MeshctlError, UsageError
from meshctl.outside.interrupts import answering

if TYPE_CHECKING:
    from meshctl.ui.documents import Document

PIPED_WIDTH = 80
ERASE_LINE = "\r\x1b[2K"


@dataclass
class Output:
    """Where results and talk go. A reader who hung up never breaks what is being done."""

    format: Literal["table", "json", "yaml", "name"]
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    yes: bool = False
    quiet: bool = False
    verbose: bool = False
    colour: bool = True
    _status_line: bool = field(default=False, init=False)

    def show(self, document: Document) -> None:
        """Print a result on stdout, in the format that was asked for."""
        self._clear_status_line()
        if self.format == "json":
            escaped = "utf" not in (getattr(self.stdout, "encoding", None) or "utf").lower()
            text = _escaped(json.dumps(document.data(), indent=2, ensure_ascii=escaped))
        elif self.format == "yaml":
            text = _yaml(document)
        elif self.format == "name":
            from meshctl.ui.names import names

            text = "\n".join(names(document))
        else:
            from meshctl.ui.render import render

            text = "\n".join(render(document, self._width(self.stdout), self.verbose))
        self._write(self.stdout, text, escaped=self.format in ("json", "yaml"))

    def show_error(self, error: MeshctlError) -> None:
        """Tell on stderr what went wrong; with -o json or yaml also on stdout, as error/v1."""
        from meshctl.ui.render.error import error_lines

        self._clear_status_line()
        self._write(self.stderr, "\n".join(error_lines(error, self._width(self.stderr))))
        if self.format in ("json", "yaml"):
            from meshctl.ui.convert import error_document

            self.show(error_document(error))

    def say(self, text: str) -> None:
        """Tell something worth keeping; silent with -q."""
        if not self.quiet:
            self._clear_status_line()
            self._write(self.stderr, text)

    def warn(self, text: str) -> None:
        """Tell something that may hurt; -q does not silence it."""
        self._clear_status_line()
        self._write(self.stderr, f"! warning: {text}")

    def detail(self, text: str) -> None:
        """Tell something that only -v asks for."""
        if self.verbose:
            self._clear_status_line()
            self._write(self.stderr, f"  . {text}")

    def progress(self, text: str) -> None:
        """Show what is being waited for, on one line that the next output replaces.

        Silent with -q and when stderr is no terminal.
        """
        if self.quiet or not self.stderr.isatty():
            return
        shown = f"{visible(text)} …"[: self._width(self.stderr) - 1]
        self._raw(self.stderr, f"{ERASE_LINE}{shown}")
        self._status_line = True

    def confirm(self, question: str) -> None:
        """Ask, and return when the answer is yes. Raises Interrupted when it is no, and UsageError
        when nobody can be asked."""
        if self.yes:
            return
        if not (self.stdin.isatty() and self.stderr.isatty()):
            raise UsageError(
                "this asks before it acts, and there is no terminal to ask on",
                hint="say yes beforehand: --yes",
            )
        self._clear_status_line()
        self._raw(self.stderr, f"{visible(question)} [y/N] ")
        with answering():
            answer = self.stdin.readline()
        if answer.strip().lower() not in ("y", "yes"):
            raise Interrupted("the answer was no; nothing was changed")

    @property
    def talk_width(self) -> int:
        """Columns there are for what is told on stderr."""
        return self._width(self.stderr)

    def _width(self, stream: TextIO) -> int:
        if not stream.isatty():
            return PIPED_WIDTH
        with contextlib.suppress(OSError, ValueError):
            return max(40, min(100, os.get_terminal_size(stream.fileno()).columns))
        return PIPED_WIDTH

    def _write(self, stream: TextIO, text: str, *, escaped: bool = False) -> None:
        text = text if escaped else visible(text)
        if self.colour and stream.isatty():
            from meshctl.ui.colour import painted

            text = painted(text)
        self._raw(stream, f"{text}\n")

    def _raw(self, stream: TextIO, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            stream.write(text)
            stream.flush()

    def _clear_status_line(self) -> None:
        if self._status_line:
            self._raw(self.stderr, ERASE_LINE)
            self._status_line = False


def visible(text: str) -> str:
    """The text with whatever is not printed, but for line ends and tabs, as `\\x1b` and the like.

    Messages carry words of servers and strangers, and a terminal obeys its escape sequences.
    """
    return _written_out(text, lambda char: char.encode("unicode_escape").decode("ascii"))


def _escaped(text: str) -> str:
    """The same for JSON, which leaves DEL and C1 as they are; to a parser nothing changes."""
    return _written_out(text, lambda char: json.dumps(char)[1:-1])


def _written_out(text: str, form: Callable[[str], str]) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else form(c) for c in text)


def _yaml(document: Document) -> str:
    import yaml

    return yaml.safe_dump(document.data(), sort_keys=False, allow_unicode=True).rstrip("\n")
