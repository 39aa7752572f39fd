"""`meshctl emulator`: the embedded cloud beside the fleet file."""

from __future__ import annotations

import typer

from meshctl.cli.embedded import Running
from meshctl.cli.world import world_of
from meshctl.ui.documents import Emulator


def start(
    ctx: typer.Context,
    port: int | None = typer.Option(None, min=1, max=65535, help="Listen here; else a free port."),
) -> None:
    """Start the embedded cloud, unless it runs."""
    world = world_of(ctx)
    world.output.progress("starting the embedded cloud")
    world.output.show(_document(world.embedded().start(port)))


def stop(ctx: typer.Context) -> None:
    """Stop the embedded cloud; its state is kept."""
    world = world_of(ctx)
    world.output.progress("stopping the embedded cloud")
    world.embedded().stop()
    world.output.show(_document(None))


def status(ctx: typer.Context) -> None:
    """Say whether the embedded cloud runs."""
    world = world_of(ctx)
    world.output.show(_document(world.embedded().running()))


def reset(ctx: typer.Context) -> None:
    """Forget everything in the embedded cloud.

    Services, images, builds and objects are removed. It asks first.
    """
    world = world_of(ctx)
    embedded = world.embedded()
    world.output.confirm(f"Forget everything in the embedded cloud in {embedded.data}?")
    embedded.reset()
    world.output.show(_document(embedded.running()))


def _document(running: Running | None) -> Emulator:
    if running is None:
        return Emulator(url=None, pid=None, state="stopped")
    return Emulator(url=running.url, pid=running.pid, state="running")
