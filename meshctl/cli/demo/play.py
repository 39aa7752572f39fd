"""Plays scenes until one is not as it should be, and sums up what came of them."""

from __future__ import annotations

from collections.abc import Sequence

from meshctl.cli.demo.scene import Scene, say
from meshctl.cli.demo.stage import Stage
from meshctl.ui.answers import Demo, DemoClient, DemoScene


def play_scenes(stage: Stage, scenes: Sequence[Scene]) -> Demo:
    """What was promised and what was seen. Each scene stands on the ones before it, so the first
    one that goes wrong is the last one that is played. Raises Interrupted."""
    _introduce(stage)
    played: list[DemoScene] = []
    for number, scene in enumerate(scenes, start=1):
        stage.interrupts.check()
        played.append(scene.play(stage, number))
        if not played[-1].as_expected:
            say(stage, ["", "What follows stands on this scene: the demo stops here."])
            break
    client = _client(stage)
    stage.output.say("")
    return Demo.of(tuple(played), client)


def _introduce(stage: Stage) -> None:
    say(
        stage,
        [
            "A real engine and a real model, in an embedded cloud of the demo's own.",
            "Everything is in a temporary folder that is removed at the end:",
            f"$ export MESHCTL_FLEET={stage.folder.fleet}",
        ],
    )


def _client(stage: Stage) -> DemoClient:
    """What the client saw; no question at all when the service was never open."""
    stage.client.stop()
    tally = stage.client.tally
    if tally is None:
        return DemoClient(requests=0, failed=0, longest_gap_s=0.0)
    if tally.reasons:
        say(stage, ["", "The client saw failures:", *(f"  {why}" for why in tally.reasons)])
    return DemoClient(
        requests=tally.requests,
        failed=tally.failed,
        longest_gap_s=round(tally.longest_gap_s, 3),
    )
