"""Turns what observe/ found into the documents of status, history and explain. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from meshctl.observe.explain import Story
from meshctl.observe.history import History, Past
from meshctl.observe.status import Status
from meshctl.plan import traffic
from meshctl.plan.observed import LATEST, ServiceSeen, Split
from meshctl.ui import answers as ui
from meshctl.ui.convert import change_entries
from meshctl.ui.costs import cost_entry, price_sources


def status_document(found: Iterable[Status], *, show_values: bool = False) -> ui.Status:
    """One entry for each service and target."""
    known = tuple(found)
    return ui.Status(
        services=tuple(_status(one, show_values) for one in known),
        prices=price_sources(one.prices for one in known if one.cost),
    )


def _status(one: Status, show_values: bool) -> ui.StatusEntry:
    seen = one.seen
    return ui.StatusEntry(
        **one.model_dump(exclude={"seen", "drift", "cost", "prices"}),
        serving=_serving(seen) if seen else (),
        tags=_tags(seen) if seen else (),
        traffic=_traffic(seen) if seen and not seen.on_host else None,
        newest=_newest(seen) if seen else None,
        drift=None if one.drift is None else change_entries(one.drift, show_values),
        scaling=ui.ScalingEntry(**seen.scaling.model_dump()) if seen else None,
        cost=cost_entry(one.cost) if one.cost else None,
    )


def _serving(seen: ServiceSeen) -> tuple[ui.Serving, ...]:
    return tuple(
        ui.Serving(release=_release(seen, row.revision), revision=row.revision, percent=row.percent)
        for row in seen.serving
    )


def _traffic(seen: ServiceSeen) -> ui.TrafficEntry:
    return ui.TrafficEntry(
        desired=_shares(seen, seen.traffic),
        effective=_shares(seen, seen.effective),
        new_revision_percent=traffic.for_a_new_one(seen),
        modified_by=seen.modifier,
    )


def _shares(seen: ServiceSeen, rows: Split) -> tuple[ui.ShareEntry, ...]:
    return tuple(
        ui.ShareEntry(
            revision=seen.resolve(row.revision),
            latest=row.revision == LATEST,
            percent=row.percent,
            tag=row.tag,
        )
        for row in rows
    )


def _tags(seen: ServiceSeen) -> tuple[ui.TagEntry, ...]:
    return tuple(
        ui.TagEntry(tag=row.tag, revision=seen.resolve(row.revision) or row.revision, url=row.url)
        for row in seen.effective
        if row.tag
    )


def _newest(seen: ServiceSeen) -> ui.Newest | None:
    revision = seen.revision(seen.latest_created) if seen.latest_created else None
    if revision is None:
        return None
    return ui.Newest(revision=revision.name, release=revision.release, ready=revision.ready)


def _release(seen: ServiceSeen, name: str) -> str | None:
    revision = seen.revision(name)
    return revision.release if revision else None


def history_document(told: History) -> ui.History:
    """The newest first."""
    return ui.History(
        releases=tuple(_past(one) for one in told.past),
        chain=tuple(run.release or "?" for run in told.chain),
        notes=told.notes,
    )


def _past(one: Past) -> ui.HistoryEntry:
    if one.run is None:
        return _unproven(one)
    run = one.run
    return ui.HistoryEntry(
        release=run.release or "",
        revision=run.revision,
        run=None if run.by_label else run.run,
        verb=None if run.by_label else run.verb,
        at=run.at,
        who=run.who or None,
        commit=run.commit,
        dirty=run.dirty,
        verdict=None if run.broken_off else run.verdict,
        serving=one.serving,
        rollback_to=one.rollback_to,
        ended=run.broken_off or None,
    )


def _unproven(one: Past) -> ui.HistoryEntry:
    """A revision that nobody asked; when it was made is what its target says."""
    revision = one.unproven
    return ui.HistoryEntry(
        release=revision.release if revision else "", revision=revision.name if revision else None,
        run=None, verb=None, at=one.at or None, who=None, commit=None, dirty=None, verdict=None,
        serving=one.serving, rollback_to=False,
    )  # fmt: skip


def explain_document(story: Story) -> ui.Explain:
    """The story of one run."""
    plan, ending = story.plan, story.ending
    return ui.Explain(
        run=story.run,
        service=plan.service,
        target=plan.target,
        verb=plan.verb,
        who=story.who or None,
        verdict=ending.judgement if ending else None,
        exit_code=ending.code if ending else None,
        from_release=plan.from_release,
        to_release=plan.to_release,
        events=tuple(ui.ExplainEvent(**line.model_dump()) for line in story.lines),
        next=story.next,
        ended=story.broken_off or None,
    )
