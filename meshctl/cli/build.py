"""`meshctl build`: from a context to an image digest."""

from __future__ import annotations

from typing import Any

import typer

from meshctl.build.request import BuildRequest, Doors
from meshctl.build.run import build as build_image
from meshctl.cli.pairs import region_of
from meshctl.cli.quota import ask_before_build
from meshctl.cli.source import digests, request_for
from meshctl.cli.world import LOCAL, World, world_of
from meshctl.errors import UsageError
from meshctl.quantities import show_bytes
from meshctl.spec.model import CloudRunTarget, Fleet
from meshctl.spec.near import near
from meshctl.ui.convert import build_document


def build(
    ctx: typer.Context,
    image: str = typer.Argument(..., metavar="IMAGE", help="An image of the fleet file."),
    target: str | None = typer.Option(
        None, "--target", help="Build in its project; else where the image is used."
    ),
    no_wait: bool = typer.Option(
        False, "--async", help="Only start it; the same command again follows it to its end."
    ),
    despite_quota: bool = typer.Option(
        False, "--despite-quota", help="Build although no service could run it now."
    ),
) -> None:
    """Build an image with Cloud Build, and record its digest for deploy.

    An unchanged context and recipe reuse the digest; a build of the same that is under way is
    followed. An upload that was cut off goes on where it was. Exits 9 when the build fails.
    """
    world = world_of(ctx)
    fleet = world.fleet()
    if image not in fleet.images:
        hint = near(image, fleet.images)
        raise UsageError(f"no image named {image!r}", hint=hint, place=fleet.file)
    place = _place(fleet, image, target)
    if not despite_quota:
        ask_before_build(world, image, place)
    request = request_for(world, image, place)
    doors = _doors(world, request)
    built = build_image(request, doors, lambda event, **d: _tell(world, event, d), wait=not no_wait)
    if no_wait and not built.digest:
        world.output.say(f"started; `meshctl build {image}` follows it and records its digest")
    world.output.show(build_document(built))


def _place(fleet: Fleet, image: str, target: str | None) -> CloudRunTarget:
    """The target that was named, else the first one on which a service runs the image."""
    if target is not None and target not in fleet.targets:
        hint = near(target, fleet.targets)
        raise UsageError(f"no target named {target!r}", hint=hint, place=fleet.file)
    users = [t for s in fleet.services.values() if s.image == image for t in s.target]
    clouds = [name for name, t in fleet.targets.items() if isinstance(t, CloudRunTarget)]
    candidates = [target] if target else [name for name in users if name in clouds] or clouds
    if not candidates:
        hint = "declare a Cloud Run target, in whose project the image can be built"
        raise UsageError(f"there is nowhere to build {image}", hint=hint, place=fleet.file)
    return region_of(fleet, ("", candidates[0]))


def _doors(world: World, request: BuildRequest) -> Doors:
    from meshctl.outside.cloudbuild import RestCloudBuild
    from meshctl.outside.sessions import Sessions
    from meshctl.outside.storage import RestStorage

    return Doors(
        store=world.store(),
        builds=RestCloudBuild(request.cloud, world.calls),
        uploads=RestStorage(request.cloud, world.calls, world.clock),
        clock=world.clock,
        shell=world.shell,
        sessions=Sessions(world.folder / LOCAL / "uploads"),
        digests=digests(world),
    )


def _tell(world: World, event: str, details: dict[str, Any]) -> None:
    """What a build does, as it happens: lasting facts are said, the rest is progress."""
    output = world.output
    if event == "frozen":
        output.say(f"context: {details['files']} files, {show_bytes(details['bytes'])}")
        for path, size in details["largest"]:
            output.detail(f"{show_bytes(size):>10}  {path}")
    elif event in ("pack", "upload"):
        percent = 100 * details["bytes"] // max(details["of"], 1)
        output.progress(f"{event} {percent} % of {show_bytes(details['of'])}")
    elif event == "reserved":
        output.say(f"tag: {details['tag']}")
    elif event == "status":
        output.progress(f"build {details['build']}: {details['status'].lower()}")
    elif event == "attached":
        output.say(f"build {details['build']} makes {details['tag']} of the same: following it")
    elif event == "resumed":
        output.say("an upload of the same was cut off before: it goes on where it was")
    elif event == "log":
        output.say(f"  {details['line']}")
    elif event == "reused":
        output.say(f"nothing changed since {details['tag']}: its digest is reused")
