"""What services the state is about: what is left to go by without a fleet file."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from meshctl.cli.world import World
from meshctl.spec.model import Target
from meshctl.state.journal import Event, all_runs, read_events, subject_of
from meshctl.state.site import Site, place_in


@dataclass(frozen=True)
class Known:
    """One service that the state is about: its key in a fleet, its name on the target, the target
    as that fleet calls it, and the site that it really is."""

    key: str
    name: str
    target: str
    site: Site

    def is_meant(self, typed: str) -> bool:
        """By its key, or as `PROJECT:REGION/KEY` where several projects know the key."""
        return typed in (self.key, f"{self.site}/{self.key}")


def known_services(world: World) -> dict[Known, Target | None]:
    """Every service that a journal or a lock is about, with its place: what is left to go by when
    the fleet file is broken or gone. A lock without a journal knows only the name.

    A listing, and one event for each service: that which opened its newest run.
    """
    store = world.store(broken_file_ok=True)
    last = {subject_of(run): run for run in all_runs(store)}
    opened = read_events(store, [(run, 1) for run in last.values()])
    found = dict(_opened(*each) for each in zip(last, opened, strict=True))
    for lock in store.list("locks/"):
        site, _, name = lock.removeprefix("locks/").removesuffix(".json").partition("/")
        if f"{name}.{site}" not in last:
            found[Known(name, name, site, Site(site))] = None
    return dict(sorted(found.items(), key=lambda item: (item[0].key, item[0].site)))


def _opened(subject: str, event: Event | None) -> tuple[Known, Target | None]:
    """What the first event of a run says, as far as it is what meshctl writes there."""
    name, _, site = subject.partition(".")
    said = event.data if event else {}
    plan = said.get("plan")
    target = plan.get("target") if isinstance(plan, dict) else None
    known = Known(str(said.get("key") or name), name, str(target or site), Site(site))
    try:
        return known, place_in(said)
    except ValidationError:
        return known, None
