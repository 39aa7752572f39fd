"""Tells a run as it happens, on stderr: one sentence for each event that is safe in the journal."""

from __future__ import annotations

from meshctl.outside.clock import parse_rfc3339
from meshctl.plan.steps import Plan
from meshctl.quantities import show_seconds
from meshctl.rollout.ending import Ending
from meshctl.state.journal import Event
from meshctl.ui.output import Output
from meshctl.ui.render.text import wrapped


class Follow:
    """A listener for `Journal(follow=...)`.

    The plan is in the first event of a run, so a resumed run shows that one first, and says it
    once however often it comes. How long a step took is the time between its events. A reason is
    told by its first line here, and in full by the result.
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self.run = ""
        self.texts: dict[str, str] = {}
        self.undos: dict[str, str] = {}
        self.began: dict[str, str] = {}
        self.verdicts: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        step = event.step or ""
        match event.kind:
            case "opened":
                self._open(event)
            case "started":
                self.began[step] = event.at
                self.output.progress(self._line(step))
            case "undoing":
                self.began[step] = event.at
                self.output.progress(self._undo_line(step))
            case "verdict":
                self.verdicts[step] = str(event.data["verdict"])
            case "finished":
                self._say(self._line(step), self.verdicts.get(step, "done"), event)
            case "failed" if not step:
                self._tell(_first_line(event))
            case "failed":
                self._say(self._line(step), self.verdicts.get(step, "failed"), event)
            case "undone":
                self._say(self._undo_line(step), "done", event)
            case "paused" | "closed" | "fenced":
                if end := _end(event):
                    self._tell(end)

    def _open(self, event: Event) -> None:
        plan = Plan.model_validate(event.data["plan"])
        self.texts = {step.id: step.text for step in plan.steps}
        self.undos = {step.id: step.undo for step in plan.steps}
        if self.run != event.data["run"]:
            self.run = event.data["run"]
            self._tell(f"run {self.run}: {plan.verb} {plan.service} on {plan.target}")

    def _tell(self, text: str, rest: str = "  ") -> None:
        self.output.say("\n".join(wrapped(text, self.output.talk_width, rest=rest)))

    def _say(self, line: str, result: str, event: Event) -> None:
        began = self.began.get(event.step or "", event.at)
        seconds = (parse_rfc3339(event.at) - parse_rfc3339(began)).total_seconds()
        why = f": {_first_line(event)}" if event.data.get("why") else ""
        step = f"{event.step or ''}  "
        self._tell(f"{line} … {result} ({show_seconds(seconds)}){why}", " " * len(step))

    def _line(self, step: str) -> str:
        return f"{step}  {self.texts.get(step, '')}"

    def _undo_line(self, step: str) -> str:
        return f"{step}  undo: {self.undos.get(step, '')}"


def _first_line(event: Event) -> str:
    """Why a step failed, or who aborted the run, without the lines that follow."""
    return str(event.data["why"]).split("\n", 1)[0]


def _end(event: Event) -> str:
    """How it ended, where that is news: of a run that went well its result says everything."""
    if event.kind == "fenced":
        return f"taken over by {event.data.get('who', 'somebody else')}"
    code = Ending.read(event.data["ending"]).code
    if event.kind == "paused":
        return f"paused, exit code {code}"
    return f"ended, exit code {code}" if code else ""
