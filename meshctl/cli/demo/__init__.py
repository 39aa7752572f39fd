"""`meshctl demo`: what meshctl promises, played on a real engine and a real model."""

from __future__ import annotations

import typer

from meshctl.cli.demo.extras import refuse_without_extras
from meshctl.cli.demo.play import play_scenes
from meshctl.cli.demo.scenes import SCENES
from meshctl.cli.demo.stage import open_stage
from meshctl.cli.world import world_of
from meshctl.errors import CheckFailed


def demo(ctx: typer.Context) -> int:
    """Play releases that work and releases that fail, in a private embedded cloud.

    A real model answers a client all the while. Nothing of yours is touched: fleet, state and
    cloud are in a temporary folder, which is removed at the end. Takes about a minute and a half.
    Exits 9 when one thing was not as promised.
    """
    world = world_of(ctx)
    refuse_without_extras()
    with open_stage(world) as stage:
        document = play_scenes(stage, SCENES)
    world.output.show(document)
    return 0 if document.ok else CheckFailed.exit_code
