"""The kinds of things a scene does: type a command, ask the model, move traffic behind our back."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Literal, Protocol

from meshctl.cli.demo.question import PATH, body, content_of, question
from meshctl.cli.demo.stage import REGION, SERVICE, SITE, Stage
from meshctl.cli.demo.typed import Watch, never, typed
from meshctl.errors import Unreachable
from meshctl.state.journal import all_runs, read_journal
from meshctl.state.ledger import read_ledger

CURL_UNREACHABLE, CURL_HTTP_ERROR, NOTHING_SAID = 7, 22, 1
"""Exit codes of `curl --fail`; that an answer has no text is told by ours."""
PATIENCE_S = 60.0

Played = tuple[int, list[str]]
"""The exit code and the lines that came of it."""


class Act(Protocol):
    """One thing that a user could type."""

    def text(self, stage: Stage) -> str:
        """The words, as they stand behind the prompt."""
        ...

    def play(self, stage: Stage) -> Played: ...


@dataclass(frozen=True)
class Meshctl:
    """A meshctl command. When its run has recorded a finished shift step, `at_shift` says what
    happens: it is killed, or the service is open and the client begins to ask."""

    words: str
    at_shift: Literal["", "open", "kill"] = ""

    def text(self, stage: Stage) -> str:
        return f"meshctl {self.words}"

    def play(self, stage: Stage) -> Played:
        return typed(stage, self.words.split(), self._watch(stage))

    def _watch(self, stage: Stage) -> Watch:
        if not self.at_shift:
            return never
        before = frozenset(all_runs(stage.store))

        def watch() -> bool:
            if not _has_shifted(stage, before):
                return False
            if self.at_shift == "open" and not stage.client.asking:
                stage.client.start(stage.url())
            return self.at_shift == "kill"

        return watch


def _has_shifted(stage: Stage, before: frozenset[str]) -> bool:
    """Whether a run that is new has recorded a finished shift step."""
    new = [run for run in all_runs(stage.store) if run not in before]
    events = [event for run in new for event in read_journal(stage.store, run).events]
    return any(e.kind == "finished" and (e.step or "").endswith("-shift") for e in events)


@dataclass(frozen=True)
class Question:
    """A chat completion, asked on the public URL as anybody would."""

    words: str

    def text(self, stage: Stage) -> str:
        sent = shlex.quote(json.dumps(body(self.words), separators=(",", ":")))
        return f"curl --fail {stage.url()}{PATH} --json {sent}"

    def play(self, stage: Stage) -> Played:
        asked = question(stage.url(), self.words)
        try:
            answer = stage.http.send(asked, timeout_s=PATIENCE_S)
        except Unreachable as error:
            return CURL_UNREACHABLE, [error.message]
        if answer.status >= 400:
            return CURL_HTTP_ERROR, [answer.body.decode(errors="replace")]
        said = content_of(answer.body)
        return (0 if said else NOTHING_SAID), said.split("\n")


@dataclass(frozen=True)
class Pin:
    """All traffic to the revision that was cut over, by a stranger: the google-cloud-run client
    asks the API, and neither meshctl nor its journal knows."""

    def text(self, stage: Stage) -> str:
        to = f"--to-revisions {_cut_over(stage)}=100"
        return f"gcloud run services update-traffic {SERVICE} --region {REGION} {to}"

    def play(self, stage: Stage) -> Played:
        row = {
            "type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION",
            "revision": _cut_over(stage),
            "percent": 100,
        }
        stage.api.update_service(SERVICE, {"traffic": [row]}, ["traffic"])
        return 0, ["(sent with the google-cloud-run client, which has the same effect)"]


def _cut_over(stage: Stage) -> str:
    """The revision of the last cutover."""
    runs = read_ledger(stage.store, SERVICE, SITE).runs
    return next(run.revision or "" for run in reversed(runs) if run.verb == "cutover")
