"""Tells the last lines that a failed candidate wrote, where its log can be read."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from meshctl.cli.grounds import region_in
from meshctl.cli.world import World
from meshctl.errors import MeshctlError
from meshctl.outside.clock import rfc3339

if TYPE_CHECKING:
    from meshctl.rollout.ground import Ground
    from meshctl.rollout.outcome import Outcome
    from meshctl.ui.asked import Logs

LAST = 10
"""Lines told: enough for the end of a traceback."""
BACK_S = 3600
"""A startup probe of a GPU may take half an hour; facts/cloud-run section 5."""


def tell_last_lines(world: World, ground: Ground, outcome: Outcome) -> None:
    """On stderr, when a revision did not get ready or did not answer well; one call, and never
    another failure."""
    failed = [step for step in outcome.steps if step.status == "failed"]
    if not outcome.revision or not any(step.kind in ("place", "check") for step in failed):
        return
    try:
        log = _log(world, ground, outcome.revision)
    except MeshctlError as error:
        world.output.detail(f"no log of {outcome.revision}: {error.message}")
        return
    if not log.lines:
        world.output.detail(f"no log of {outcome.revision} yet: `meshctl logs {ground.key}`")
        return
    from meshctl.ui.render import render

    world.output.say(f"the last lines of {outcome.revision}:")
    for text in render(log):
        world.output.say(f"  {text}")


def _log(world: World, ground: Ground, revision: str) -> Logs:
    from meshctl.observe.logs import Wanted, lines_of
    from meshctl.outside.logs import RestLogs
    from meshctl.ui.logs import logs_document

    since = rfc3339(world.clock.now() - datetime.timedelta(seconds=BACK_S))
    wanted = Wanted(ground.name, region_in(ground).region, since, revision)
    api = RestLogs(world.cloud_of(region_in(ground)), world.http, world.calls)
    return logs_document(
        ground.key, ground.target.name, lines_of(api.newest(wanted.filter(), LAST))
    )
