"""What a build of an image is asked for, and what became of its files since the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meshctl.cli.doors import latest_of
from meshctl.cli.pairs import Pair, region_of
from meshctl.cli.world import LOCAL, World
from meshctl.outside.digests import Digests
from meshctl.spec.model import CloudRunTarget

if TYPE_CHECKING:
    from meshctl.build.request import BuildRequest
    from meshctl.plan.source import SourceSeen


def request_for(world: World, image: str, place: CloudRunTarget) -> BuildRequest:
    """An image of the fleet, to be built in the project of that target."""
    from meshctl.build.request import BuildRequest

    fleet = world.fleet()
    return BuildRequest(
        image=image,
        spec=fleet.images[image],
        folder=world.file.parent,
        payloads=fleet.payloads,
        cloud=world.cloud_of(place),
        exclude=tuple(filter(None, [world.state_folder()])),
    )


def digests(world: World) -> Digests:
    """What files hashed to when they were last built from this folder."""
    return Digests(world.folder / LOCAL / "digests")


def source_of(world: World, pair: Pair) -> SourceSeen | None:
    """What became of the recipe and the context of a service's image; None where it is not built
    here. Looked at once a command, however many services run the image."""
    from meshctl.build.source import source_seen

    fleet = world.fleet()
    image = fleet.services[pair[0]].image
    if fleet.images[image].build is None:
        return None
    if image not in world.sources:
        done, begun = latest_of(world, fleet, pair[0])
        request = request_for(world, image, region_of(fleet, pair))
        world.sources[image] = source_seen(request, digests(world), done, begun)
    return world.sources[image]
