"""What the journals of a service add up to: who served, what proved itself, what was written. Pure.

A summary needs a run's first and last event, two reads, many at a time; only a run that nobody
closed is read whole, for a verdict in it must not be forgotten because somebody took the run over.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from meshctl.outside.objects import ObjectStore
from meshctl.spec.model import Frozen
from meshctl.state.journal import Damaged, Event, count_events, read_events, read_journal
from meshctl.state.site import Site

DEPLOYING = ("peer-add", "peer-remove", "peer-sync", "env-sync")
"""Verbs of runs that are a deploy with something of their own in it."""

LABELLED = "label "
"""How the run begins that plan/standing.py tells from a label; no run of a journal has a space."""


class Run(Frozen):
    """One run: what was asked, and how it ended; `state` is open while nobody closed it. `how`
    is that of its ending. `verdict` is the last one in it, about its revision, whatever became of
    the run. `splits` are those that it may leave behind wherever it stops."""

    run: str
    verb: str
    service: str
    site: str
    at: str
    who: str = ""
    reason: str = ""
    commit: str | None = None
    dirty: bool | None = None
    state: Literal["open", "paused", "closed", "fenced", "damaged"]
    exit_code: int | None = None
    how: str | None = None
    verdict: Literal["pass", "fail", "unclear"] | None = None
    release: str | None = None
    revision: str | None = None
    from_revision: str | None = None
    served: bool = False
    min_instances: int | None = None
    outage_s: float | None = None
    traffic: dict[str, int] | None = None
    or_traffic: dict[str, int] | None = None
    splits: tuple[dict[str, int], ...] | None = None
    template: dict[str, Any] | None = Field(default=None, repr=False)
    peers: Any = Field(default=None, repr=False)
    events: int = 0

    @property
    def by_label(self) -> bool:
        """Whether no journal knows it, only a label on the service."""
        return self.run.startswith(LABELLED)

    @property
    def broken_off(self) -> str:
        """What became of it in place of a verdict on the whole run; empty where there is one."""
        if self.state == "fenced":
            return "taken over"
        if self.state == "open":
            return "unfinished"
        return self.how if self.how in ("interrupted", "aborted") else ""

    @property
    def holds_up(self) -> bool:
        """Whether it may have left something half done: one that only asked, or that takes away
        what nobody uses, piece by piece, has not."""
        return self.state in ("open", "paused") and self.verb not in ("verify", "gc")


class Ledger(Frozen):
    """The runs of one service on one site, the oldest first."""

    runs: tuple[Run, ...] = ()

    @property
    def unfinished(self) -> Run | None:
        """The run that somebody has to resume or abort before another one may begin."""
        return next((run for run in reversed(self.runs) if run.holds_up), None)

    @property
    def damaged(self) -> Run | None:
        """The newest run, when nobody can read how it stands: it may have left something half
        done. A later run that could be read has seen to that."""
        last = self.runs[-1] if self.runs else None
        return last if last is not None and last.state == "damaged" else None

    @property
    def whole(self) -> bool:
        """Whether every run of it can be read."""
        return all(run.state != "damaged" for run in self.runs)

    @property
    def last_traffic(self) -> dict[str, int] | None:
        """The split that the last run left behind; None when meshctl never wrote one."""
        written = (run.traffic for run in reversed(self.runs) if run.traffic is not None)
        return next(written, None)

    @property
    def last_splits(self) -> tuple[dict[str, int], ...]:
        """The same, with the one that may be there instead where the last run could not tell."""
        last = next((run for run in reversed(self.runs) if run.traffic is not None), None)
        both = (last.traffic, last.or_traffic) if last else ()
        return tuple(split for split in both if split is not None)

    def verdict_of(self, revision: str, release: str) -> str | None:
        """The latest verdict for exactly that revision, being that release: a name may come back
        with another template."""
        judged = (
            run.verdict
            for run in reversed(self.runs)
            if (run.revision, run.release) == (revision, release) and run.verdict
        )
        return next(judged, None)

    def minimum_of(self, run: Run) -> int | None:
        """The last minimum of instances that its release served with: a later run may have changed
        it without making a revision. A canary serves nobody, and says nothing of it."""
        later = (
            one.min_instances
            for one in reversed(self.runs)
            if (one.revision, one.release) == (run.revision, run.release)
            and one.exit_code == 0
            and one.verb not in ("canary", "verify", "gc")
            and one.min_instances is not None
        )
        return next(later, run.min_instances)

    @property
    def chain(self) -> tuple[Run, ...]:
        """The releases that passed and served, in the order in which they came to serve."""
        return tuple(run for run in self.runs if run.served and run.verb != "rollback")

    @property
    def half_way(self) -> Run | None:
        """The last run that moves traffic, when it neither came to serve nor was taken back."""
        moving = ("deploy", "cutover", "rollback", *DEPLOYING)
        last = next((run for run in reversed(self.runs) if run.verb in moving), None)
        if last is None or last.verb == "rollback":
            return None
        return last if last.state != "closed" or last.exit_code == 4 else None

    def left_behind(self, revision: str) -> bool:
        """Whether it was rolled back from, and has not served by anybody's will since. A rollback
        to a release that did not prove itself left it behind too, one that was aborted did not."""
        for run in reversed(self.runs):
            taken_back = run.state == "closed" and run.exit_code != 4 and not run.served
            if run.verb == "rollback" and not taken_back and run.from_revision == revision:
                return True
            if run.served and run.revision == revision and run.verb != "rollback":
                return False
        return False

    def predecessor(self, serving: str | None, *, alone: bool = True) -> Run | None:
        """Where a rollback from the serving revision goes: back along the chain, past whatever
        was rolled back from already. `alone` says that nothing else gets requests.

        A rollout that stands half-way goes back to where it began: at 5 % of the new release the
        old one still serves most, and is not what anybody wants to get away from.
        """
        began = self.half_way
        if began and (not alone or serving != began.from_revision):
            origin = (run for run in reversed(self.chain) if run.revision == began.from_revision)
            if (run := next(origin, None)) is not None:
                return run
        return self.before(serving)

    def before(self, serving: str | None) -> Run | None:
        """The release before that revision in the chain, past whatever was rolled back from."""
        chain = list(self.chain)
        places = [n for n, run in enumerate(chain) if run.revision == serving]
        before = chain[: places[-1]] if places else chain
        release = chain[places[-1]].release if places else None
        for run in reversed(before):
            if run.release != release and not self.left_behind(run.revision or ""):
                return run
        return None

    @property
    def last_outage_s(self) -> float | None:
        """How long nobody was served when a release was replaced last; None where nobody knows."""
        return next((r.outage_s for r in reversed(self.runs) if r.outage_s is not None), None)

    def of_release(self, release: str) -> Run | None:
        """The latest run in which that release came to serve."""
        return next((run for run in reversed(self.chain) if run.release == release), None)


def read_ledger(store: ObjectStore, service: str, site: Site) -> Ledger:
    """The ledger of a service, from the first and the last event of each of its runs. A run that
    somebody damaged is there as such."""
    from meshctl.state.shelf import read_shelf

    counts = count_events(store, service, site)
    known = read_shelf(store, service, site, counts)
    left = {run: count for run, count in counts.items() if run not in known}
    ends = [(run, number) for run, count in left.items() for number in (1, max(count, 1))]
    found = iter(read_events(store, ends))
    for run, count in left.items():
        first, last = next(found), next(found)
        if first is not None and last is not None:  # else removed since it was listed
            read = _summary(store, run, service, site, first, last, whole=count > 0)
            known[run] = read.model_copy(update={"events": count})
    return Ledger(runs=tuple(known[run] for run in counts if run in known))


def _summary(
    store: ObjectStore, name: str, service: str, site: Site, first: Event, last: Event, *,
    whole: bool,
) -> Run:  # fmt: skip
    if not whole or first.kind != "opened" or last.kind == "unreadable":
        return _unreadable(name, service, site, first)
    try:
        run = summarise(name, service, site, first, last)
        if run.state in ("closed", "paused"):
            return run
        verdict = last_verdict(read_journal(store, name).events)
        return Run.model_validate({**run.model_dump(), "verdict": verdict})
    except (ValidationError, Damaged):  # fields of a form that nobody of ours writes
        return _unreadable(name, service, site, first)


def _unreadable(name: str, service: str, site: Site, first: Event) -> Run:
    """A run of which nothing is believed but that there was one."""
    verb = first.data.get("verb") if first.kind == "opened" else None
    return Run(
        run=name, verb=verb if isinstance(verb, str) else "?", service=service, site=site,
        at=first.at, state="damaged",
    )  # fmt: skip


def last_verdict(events: list[Event]) -> str | None:
    """The last judgement in a run, whoever ended it: an error on the way is a fail."""
    for event in reversed(events):
        if event.kind == "verdict":
            return str(event.data.get("verdict"))
        if event.kind == "failed" and event.data.get("how") == "fail":
            return "fail"
    return None


def summarise(name: str, service: str, site: Site, first: Event, last: Event) -> Run:
    """One run in a line, from its first and its last event."""
    states: dict[str, Literal["open", "paused", "closed", "fenced"]] = {
        "closed": "closed", "fenced": "fenced", "paused": "paused",
    }  # fmt: skip
    ended = last.data if last.kind in ("closed", "paused") else {}
    kept = {key: ended[key] for key in _FROM_THE_END if key in ended}
    said = {key: first.data[key] for key in _FROM_THE_START if key in first.data}
    ending = ended.get("ending")
    return Run(
        run=name, service=service, site=site, at=first.at,
        state=states.get(last.kind, "open"),
        how=ending.get("how") if isinstance(ending, dict) else None, **{**said, **kept},
    )  # fmt: skip


_FROM_THE_START = (
    "verb", "who", "reason", "commit", "dirty", "release", "revision", "from_revision", "template",
    "peers", "splits",
)  # fmt: skip
_FROM_THE_END = (
    "exit_code", "verdict", "release", "revision", "served", "min_instances", "outage_s", "traffic",
    "or_traffic", "peers",
)  # fmt: skip
