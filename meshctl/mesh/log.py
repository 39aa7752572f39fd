"""Writes the mesh's own words, and its engines' logs, to standard error."""

from __future__ import annotations

import itertools
import time

from meshctl.mesh.kept import Kept
from meshctl.mesh.line import Level, Line, plain, structured
from meshctl.mesh.outflow import Outflow
from meshctl.mesh.settings import LEVELS


class Log:
    """Lines on standard error, where Cloud Run and the journal look for them; `kept` has the last.

    Engine lines are always written, whatever the level: they are the only witness of a crash.
    `form` is "json" where Cloud Logging takes each line apart, else "text". Speaking never raises
    and never blocks: lines that nobody takes are counted, and their number is told afterwards.
    """

    def __init__(self, level: str, form: str = "text") -> None:
        self.kept = Kept()
        self._level = LEVELS.index(level)
        self._form = structured if form == "json" else plain
        self._numbers = itertools.count(1)
        self._outflow, self._lost = Outflow(), 0

    def say(self, level: Level, message: str, *, request: str = "") -> None:
        """One line of the mesh's own; `request` is the id of the one it is about."""
        if LEVELS.index(level) <= self._level:
            self._write(level, "", message, request)

    def engine(self, model: str, line: str, level: Level | None = None) -> None:
        """One line of an engine's log, marked with its model; `level` is what it says of itself."""
        self._write(level, model, line, "")

    def _write(self, level: Level | None, model: str, text: str, request: str) -> None:
        line = self._line(level, model, text, request)
        self.kept.add(line)
        if self._lost and self._outflow.put(self._form(self._loss())):
            self._lost = 0
        if not self._outflow.put(self._form(line)):
            self._lost += 1

    def _line(self, level: Level | None, model: str, text: str, request: str) -> Line:
        return Line(next(self._numbers), time.time(), level, model, text, request)

    def _loss(self) -> Line:
        return self._line(
            "warning", "", f"{self._lost} lines of this log were lost: nobody took them", ""
        )
