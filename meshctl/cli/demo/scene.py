"""One scene: what it changes, what it types, and what must come of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from meshctl.cli.demo.acts import Act
from meshctl.cli.demo.folder import Change
from meshctl.cli.demo.stage import Stage
from meshctl.cli.demo.transcript import ALL, TELLING, WIDTH, fold, outcome, prompt, shown, title
from meshctl.ui.answers import DemoScene
from meshctl.ui.render.text import wrapped


@dataclass(frozen=True)
class Scene:
    """`change` is written into the fleet file first, `wedges` puts the bad engine into the image's
    context; `shows` says which lines of the output are told when all is well."""

    name: str
    tells: str
    act: Act
    expected: int = 0
    change: Change | None = None
    wedges: bool = False
    shows: re.Pattern[str] = TELLING

    def play(self, stage: Stage, number: int) -> DemoScene:
        """Prepare, type, tell. Raises Interrupted when we are asked to stop."""
        say(stage, ["", title(number, self.name), *wrapped(self.tells, WIDTH)])
        self._prepare(stage)
        command = self.act.text(stage)
        say(stage, prompt(command))
        began = stage.clock.monotonic()
        code, lines = self.act.play(stage)
        seconds = round(stage.clock.monotonic() - began, 3)
        say(stage, shown(lines, self.shows if code == self.expected else ALL))
        say(stage, [outcome(code, self.expected, seconds)])
        return DemoScene(
            name=self.name,
            command=command,
            exit_code=code,
            expected_exit_code=self.expected,
            seconds=seconds,
        )

    def _prepare(self, stage: Stage) -> None:
        if self.wedges:
            stage.folder.wedge()
        if self.change is None:
            return
        stage.folder.declare(self.change)
        for path, value in self.change.items():
            say(stage, fold(f"meshctl.yaml: {path} = {json.dumps(value)}"))


def say(stage: Stage, lines: Iterable[str]) -> None:
    """Tell it on stderr, for stdout is for the document."""
    text = "\n".join(lines)
    if text:
        stage.output.say(text)
