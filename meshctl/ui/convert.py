"""Turns the values of the domain into documents. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from meshctl.errors import MeshctlError
from meshctl.plan.change import Change
from meshctl.plan.steps import Plan
from meshctl.rollout.outcome import Outcome
from meshctl.spec.model import Fleet
from meshctl.spec.written import as_file
from meshctl.state.builds import Built
from meshctl.state.evidence import Evidence, Verdict
from meshctl.state.holder import UNREADABLE, Holder
from meshctl.ui import documents as ui
from meshctl.ui.answers import LockEntry
from meshctl.ui.costs import cost_change, price_sources

WORST_FIRST = (4, 1, 3, 9, 7, 6, 8, 5)
"""Which exit code stands for several services (design section 4 of the exit codes)."""
_SECRET = re.compile(r"secret \S+ version (\d+|latest)")


def error_document(error: MeshctlError) -> ui.Error:
    """The refusal of a command."""
    return ui.Error(
        class_=type(error).__name__,
        message=error.message,
        hint=error.hint,
        place=error.place,
        exit_code=error.exit_code,
    )


def plan_document(plans: Iterable[Plan], *, show_values: bool = False) -> ui.Plan:
    """One entry for each service and target."""
    made = tuple(plans)
    return ui.Plan(
        services=tuple(_plan(plan, show_values) for plan in made),
        prices=price_sources(plan.cost.prices for plan in made if plan.cost),
    )


def _plan(plan: Plan, show_values: bool) -> ui.PlanEntry:
    return ui.PlanEntry(
        name=plan.service,
        changes=change_entries(plan.changes, show_values),
        steps=tuple(
            ui.PlanStep(id=step.id, kind=step.kind, text=step.text, undo=step.undo)
            for step in plan.steps
        ),
        strategy=plan.strategy,
        outage_s=plan.outage_s,
        refused=tuple(ui.RefusedEntry(**reason.model_dump()) for reason in plan.refused),
        target=plan.target,
        verb=plan.verb,
        from_release=plan.from_release,
        to_release=plan.to_release,
        notes=plan.notes,
        cost=cost_change(plan.cost),
    )


def rollout_document(outcome: Outcome, *, show_values: bool = False) -> ui.Rollout:
    """How one run ended."""
    known = outcome.model_dump(exclude={"changes", "steps", "evidence"})
    return ui.Rollout(
        **known,
        changes=change_entries(outcome.changes, show_values),
        steps=tuple(ui.RolloutStep(**step.model_dump()) for step in outcome.steps),
        evidence=_checks(outcome.evidence),
    )


def rollouts_document(
    outcomes: Iterable[Outcome], *, show_values: bool = False
) -> ui.Rollout | ui.Rollouts:
    """One run is rollout/v1; several are rollouts/v1 with the worst exit code."""
    told = tuple(rollout_document(outcome, show_values=show_values) for outcome in outcomes)
    if len(told) == 1:
        return told[0]
    return ui.Rollouts(exit_code=worst(one.exit_code for one in told), rollouts=told)


def worst(codes: Iterable[int]) -> int:
    """The exit code of several services: the worst of 4, 1, 3, 9, 7, 6, 8, 5; other ones last."""
    seen = set(codes) - {0}
    ranked = [code for code in WORST_FIRST if code in seen]
    return (ranked or sorted(seen, reverse=True) or [0])[0]


def verify_document(verdict: Verdict) -> ui.Verify:
    """What a battery showed."""
    return ui.Verify(verdict=verdict.verdict, checks=_checks(verdict.checks))


def build_document(built: Built) -> ui.Build:
    """An image that was built; `bytes` is what was uploaded."""
    return ui.Build(
        image=built.image,
        tag=built.tag,
        digest=built.digest or None,
        build=built.build,
        bytes=built.bytes,
        reused=built.reused,
    )


def lock_entry(service: str, target: str, holder: Holder | None, *, free: bool) -> LockEntry:
    """A lock as it is written; `free` says that it binds nobody."""
    if holder is None:
        return LockEntry(service=service, target=target, state="free")
    if holder == UNREADABLE:
        return LockEntry(service=service, target=target, state="unreadable", what=holder.what)
    return LockEntry(
        service=service,
        target=target,
        state="expired" if free else "frozen" if holder.frozen else "held",
        who=str(holder.who),
        since=holder.since,
        until=None if holder.frozen else holder.until,
        what=holder.what,
        run=holder.run,
    )


def config_document(fleet: Fleet, *, show_values: bool = False) -> ui.Config:
    """The fleet with everything filled in; keys that say nothing are left out."""
    data = fleet.model_dump(mode="json", exclude_none=True)
    for service in data["services"].values():
        for model in service["models"].values():
            model["capabilities"] = sorted(model["capabilities"])
    text = as_file(fleet)
    if not show_values:
        _hide_env(data)
        _hide_env(text)
    return ui.Config(fleet=data, text=_yaml(text))


def _yaml(tree: dict[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    return text


def _hide_env(fleet: dict[str, Any]) -> None:
    for service in fleet["services"].values():
        for owner in (service, *service.get("models", {}).values()):
            if "env" in owner:
                owner["env"] = _env(owner["env"])


def hashed(value: str) -> str:
    """`sha256:` and 12 hex digits: enough to see that two values differ, and not which they are."""
    return f"sha256:{hashlib.sha256(value.encode()).hexdigest()[:12]}"


def _env(env: Mapping[str, Any]) -> dict[str, Any]:
    return {name: hashed(v) if isinstance(v, str) else v for name, v in env.items()}


def change_entries(changes: Iterable[Change], show_values: bool) -> tuple[ui.ChangeEntry, ...]:
    """Keys that differ; env values are hashed unless they were asked for."""
    return tuple(
        ui.ChangeEntry(
            path=change.path,
            from_=_value(change.path, change.before, show_values),
            to=_value(change.path, change.after, show_values),
        )
        for change in changes
    )


def _value(path: str, value: str | None, show_values: bool) -> str | None:
    """A reference to a secret says where a value is, and not what it is."""
    is_env = ".env." in f".{path}"
    plain = value is None or not is_env or show_values or _SECRET.fullmatch(value)
    return value if plain else hashed(value or "")


def _checks(evidence: Iterable[Evidence]) -> tuple[ui.EvidenceEntry, ...]:
    return tuple(ui.EvidenceEntry(**one.model_dump()) for one in evidence)
