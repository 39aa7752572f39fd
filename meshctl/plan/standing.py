"""What a service says of its own past, in labels, for when no journal can be read. Pure.

A revision cannot be changed, so the verdict on it stands on the service: `meshctl-RELEASE` says
that it passed and served (`pass`) or was rolled back from since (`left`), with which minimum, and
when it came to serve. A label is never believed about *what* a revision is: the release id is
recomputed from the revision itself. It only says that somebody once saw that id pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.state.ledger import LABELLED, Ledger, Run
from meshctl.state.site import Site

KEPT = 12
"""How many releases are remembered so; whoever wants to go back further has a journal."""
MOST = 64
"""Labels that one resource may have; Google Cloud's general limit."""
_KEY = re.compile(r"meshctl-(r[0-9a-f]{10})")
_VALUE = re.compile(r"(pass|left)_m([0-9]{1,4})_([0-9]{8}t[0-9]{6,12})")
Word = Literal["pass", "left"]


@dataclass(frozen=True)
class Standing:
    """One release as a label tells of it; `at` is digits, and sorts by time."""

    release: str
    word: Word
    min: int
    at: str

    @property
    def key(self) -> str:
        return f"meshctl-{self.release}"

    @property
    def value(self) -> str:
        return f"{self.word}_m{self.min}_{self.at}"


def standings(ledger: Ledger) -> tuple[Standing, ...]:
    """The releases that passed and served, in the order in which they came to serve."""
    latest: dict[str, Standing] = {}
    for run in ledger.chain:
        if run.release and _KEY.fullmatch(f"meshctl-{run.release}"):
            word: Word = "left" if ledger.left_behind(run.revision or "") else "pass"
            latest.pop(run.release, None)
            minimum = ledger.minimum_of(run) or 0
            latest[run.release] = Standing(run.release, word, minimum, _stamp(run))
    return tuple(latest.values())[-KEPT:]


def _stamp(run: Run) -> str:
    """`2026-11-30T20:45:12.345678Z` -> `20261130t204512345678`."""
    return "".join(letter for letter in run.at.lower() if letter.isdigit() or letter == "t")


def labels_of(ledger: Ledger) -> dict[str, str]:
    """The same as labels."""
    return {one.key: one.value for one in standings(ledger)}


def merged(found: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """The labels of a service with the new standings in them. Other people's labels stay; of ours
    the oldest go when there are too many."""
    others = {key: value for key, value in found.items() if not _KEY.fullmatch(key)}
    ours = {key: value for key, value in {**found, **new}.items() if _KEY.fullmatch(key)}
    room = max(0, min(KEPT, MOST - len(others)))
    newest = sorted(ours, key=lambda key: ours[key].rpartition("_")[2], reverse=True)[:room]
    return others | {key: ours[key] for key in sorted(newest)}


def read_standings(labels: dict[str, str]) -> tuple[Standing, ...]:
    """What the labels of a service say, the oldest first; what is no standing is passed over."""
    found = []
    for key, value in labels.items():
        name, said = _KEY.fullmatch(key), _VALUE.fullmatch(value)
        if name and said:
            word: Word = "left" if said[1] == "left" else "pass"
            found.append(Standing(name[1], word, int(said[2]), said[3]))
    return tuple(sorted(found, key=lambda one: (one.at, one.release)))


def with_labels(ledger: Ledger, seen: ServiceSeen, site: Site) -> Ledger:
    """The ledger with what only the labels know. Runs that nobody can read are left out."""
    readable = [run for run in ledger.runs if run.state != "damaged"]
    known = {run.release for run in ledger.chain}
    told = [one for one in read_standings(seen.labels) if one.release not in known]
    runs = [run for one in told for run in _runs(one, seen, site)]
    together = sorted([*runs, *readable], key=lambda run: run.at)
    return Ledger(runs=(*together, *_half_way(together, seen, site)))


def word_of(ledger: Ledger, revision: Revision) -> str:
    """What is known of a revision: `passed`, `passed by its label`, `unproven` and the like."""
    found = (revision.name, revision.release)
    verdict = ledger.verdict_of(*found)
    if verdict != "pass":
        return {"fail": "failed", "unclear": "unclear"}.get(verdict or "", "unproven")
    runs = [run for run in ledger.runs if (run.revision, run.release) == found]
    how = "passed by its label" if all(run.by_label for run in runs) else "passed"
    return f"{how}, rolled back from since" if ledger.left_behind(revision.name) else how


def _runs(one: Standing, seen: ServiceSeen, site: Site) -> list[Run]:
    """How a journal would tell of it: it came to serve, and perhaps was rolled back from."""
    revision = revision_of(seen, one.release)
    if revision is None:
        return []
    served = Run(
        run=f"{LABELLED}{one.key}", verb="deploy", service=seen.name, site=site, at=_time(one.at),
        state="closed", exit_code=0, verdict="pass", release=one.release, revision=revision.name,
        served=True, min_instances=one.min,
    )  # fmt: skip
    left = served.model_copy(
        update={"verb": "rollback", "from_revision": revision.name, "revision": None,
                "release": None, "min_instances": None}
    )  # fmt: skip
    return [served, left] if one.word == "left" else [served]


def revision_of(seen: ServiceSeen, release: str) -> Revision | None:
    """The newest ready revision that really is that release."""
    same = [one for one in seen.revisions if one.release == release and one.ready]
    return max(same, key=lambda one: one.created, default=None)


def _half_way(known: list[Run], seen: ServiceSeen, site: Site) -> list[Run]:
    """A split between one release that passed and others that did not is a rollout that nobody
    finished: the way back leads to the one that passed."""
    serving = {row.revision for row in seen.serving}
    passed = [run for run in known if run.served and run.revision in serving]
    names = {run.revision for run in passed}
    if len(serving) < 2 or len(names) != 1 or any(run.holds_up for run in known):
        return []
    began = passed[-1].model_copy(
        update={"verb": "deploy", "state": "open", "from_revision": passed[-1].revision,
                "served": False, "release": None, "revision": None, "verdict": None}
    )  # fmt: skip
    return [began]


def _time(stamp: str) -> str:
    """`20261130t204512345678` -> `2026-11-30T20:45:12.345678Z`."""
    day, _, clock = stamp.partition("t")
    rest = f".{clock[6:]}" if clock[6:] else ""
    return f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:6]}{rest}Z"
