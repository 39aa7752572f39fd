"""Says which files the releases hold that can still be rolled back to, from the journals. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from meshctl.outside.objects import ObjectStore
from meshctl.state.journal import Event, all_runs, read_events, subject_of
from meshctl.state.ledger import Ledger, read_ledger
from meshctl.state.site import Site

Held = tuple[int, str]
"""Size and sha256 of one file of a release."""


@dataclass(frozen=True)
class Retention:
    """By sha256 and by size, the releases that hold such a file; `unknown` are those of which no
    journal tells what they hold, and journals that cannot be read; `runs` is how many there are."""

    by_sha256: Mapping[str, str] = field(default_factory=dict)
    by_bytes: Mapping[int, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    runs: int = 0

    def why(self, size: int, sha256: str | None) -> str:
        """Why a file must be kept; empty where it need not."""
        if sha256 is not None and sha256 in self.by_sha256:
            return f"{self.by_sha256[sha256]} can still be rolled back to, and holds it"
        if sha256 is None and size in self.by_bytes:
            return (
                f"{self.by_bytes[size]} can still be rolled back to, and holds a file of this "
                "size: it has no manifest that would tell more"
            )
        return f"nobody knows whether {self.unknown[0]} holds it" if self.unknown else ""


def retention_of(store: ObjectStore) -> Retention:
    """What every service whose journals are in that store can still go back to, or serves now."""
    runs = all_runs(store)
    opened = dict(zip(runs, read_events(store, [(run, 1) for run in runs]), strict=True))
    by_sha256: dict[str, str] = {}
    by_bytes: dict[int, str] = {}
    unknown: list[str] = []
    for subject in sorted({subject_of(run) for run in runs}):
        service, _, site = subject.partition(".")
        ledger = read_ledger(store, service, Site(site))
        held = _held(
            [event for run, event in opened.items() if event and subject_of(run) == subject]
        )
        unknown += [] if ledger.whole else [f"a run of {service} that cannot be read"]
        for release in releases_back(ledger):
            shown = f"release {release} of {service}"
            unknown += [] if release in held else [shown]
            for size, sha256 in held.get(release, ()):
                by_sha256.setdefault(sha256, shown)
                by_bytes.setdefault(size, shown)
    return Retention(by_sha256, by_bytes, tuple(unknown), len(runs))


def releases_back(ledger: Ledger) -> tuple[str, ...]:
    """The releases that passed and served, and that nobody rolled back from since."""
    found = [
        run.release
        for run in ledger.chain
        if run.release and run.revision and not ledger.left_behind(run.revision)
    ]
    return tuple(dict.fromkeys(found))


def _held(opened: Sequence[Event]) -> dict[str, tuple[Held, ...]]:
    """The files of each release that a run staged; a journal may be anybody's."""
    found: dict[str, tuple[Held, ...]] = {}
    for event in opened:
        plan = event.data.get("plan")
        release = plan.get("to_release") if isinstance(plan, dict) else None
        for act in _acts(plan):
            if act.get("act") == "stage-release" and isinstance(release, str):
                files = _files(act.get("files"))
                found |= {} if files is None else {release: files}
    return found


def _acts(plan: Any) -> Iterator[dict[str, Any]]:
    steps = plan.get("steps") if isinstance(plan, dict) else None
    for step in steps if isinstance(steps, list) else ():
        act = step.get("act") if isinstance(step, dict) else None
        if isinstance(act, dict):
            yield act


def _files(files: Any) -> tuple[Held, ...] | None:
    """None where it is not as a step writes it: then nobody knows."""
    if not isinstance(files, dict):
        return None
    found = [each for each in files.values() if isinstance(each, list) and len(each) == 2]
    if len(found) != len(files) or not all(isinstance(size, int) for size, _ in found):
        return None
    return tuple((size, str(sha256)) for size, sha256 in found)
