"""The doors to a target, and what is on record about its services and images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshctl.cli.world import World
from meshctl.outside.interrupts import Interrupts
from meshctl.quantities import show_bytes
from meshctl.spec.model import CloudRunTarget, Fleet, PodmanTarget
from meshctl.spec.model import Target as Place
from meshctl.state.builds import Built, Latest, latest
from meshctl.state.holder import Holder, is_free, read_lock
from meshctl.state.site import Site

if TYPE_CHECKING:
    from meshctl.outside.cloudbuild import CloudBuildApi
    from meshctl.targets.cloudrun.target import CloudRunTarget as Region
    from meshctl.targets.podman.target import HostTarget
    from meshctl.targets.target import Target


def target_of(world: World, name: str, place: Place) -> Target:
    """The door to a target, be it a region or a host."""
    if isinstance(place, CloudRunTarget):
        return region(world, name, place)
    return host_of(world, name, place, None)


def host_of(
    world: World, name: str, place: PodmanTarget, interrupts: Interrupts | None
) -> HostTarget:
    """The door to a host; `interrupts` end what it waits for."""
    from meshctl.targets.podman.target import HostTarget

    return HostTarget(
        name,
        place,
        world.hosts,
        world.http,
        world.clock,
        interrupts=interrupts,
        note=world.output.progress,
    )


def region(world: World, name: str, place: CloudRunTarget) -> Region:
    """The door to one Cloud Run region; an embedded cloud is started on the way."""
    from meshctl.outside.cloudrun import RestCloudRun
    from meshctl.targets.cloudrun.target import CloudRunTarget as Region

    api = RestCloudRun(world.cloud_of(place), world.calls)
    return Region(name, api, world.http, world.clock, note=world.output.detail)


def builds_door(world: World, place: CloudRunTarget) -> CloudBuildApi:
    from meshctl.outside.cloudbuild import RestCloudBuild

    return RestCloudBuild(world.cloud_of(place), world.calls)


def built_of(world: World, fleet: Fleet, key: str) -> Built | None:
    """The newest recorded build of the image that a service runs."""
    return latest_of(world, fleet, key).done


def latest_of(world: World, fleet: Fleet, key: str) -> Latest:
    """The same, and the build after it that is not done."""
    image = fleet.services[key].image
    repository = fleet.images[image].repository
    if image not in world.built:
        found = latest(world.store(), image, repository) if repository else Latest()
        world.built[image] = found
    return world.built[image]


def binding(world: World, name: str, site: Site) -> Holder | None:
    """The lock of a service, as far as it binds anybody."""
    holder = read_lock(world.store(broken_file_ok=True), name, site)
    return None if holder is None or is_free(holder, world.clock.now()) else holder


def proved(
    world: World, place: CloudRunTarget, interrupts: Interrupts, url: str, size: int, sha256: str
) -> dict[str, Any]:
    """Where a payload is mounted or fetched from; every byte is read once. A signal ends that."""
    from meshctl.outside.storage import RestStorage
    from meshctl.payloads.object import prove_object

    def tell(url: str, done: int, total: int) -> None:
        interrupts.check()
        world.output.progress(f"proving {url}: {100 * done // total} % of {show_bytes(total)}")

    if not url.startswith("gs://"):
        return _proved_source(world, url, size, sha256, tell)
    bucket = RestStorage(world.cloud_of(place), world.calls, world.clock)
    return prove_object(url, size, sha256, bucket, world.store(broken_file_ok=True), tell)


def _proved_source(
    world: World, url: str, size: int, sha256: str, tell: Callable[[str, int, int], None]
) -> dict[str, Any]:
    """A file of the hub, of S3, R2 or a web server."""
    from meshctl.outside.http_kept import KeptHttp
    from meshctl.outside.ranges_open import Doors
    from meshctl.outside.retries import Patience
    from meshctl.payloads.locate import locate
    from meshctl.payloads.remote import prove_source
    from meshctl.payloads.wanted import Hands, Wanted

    found = locate(url, Doors(KeptHttp(), world.environ, world.clock, world.calls))
    wanted = Wanted(
        found.folder, found.name, Path(found.name), size, sha256, hub=url.startswith("hub:")
    )
    hands = Hands(world.clock, Patience(world.clock, world.output.detail), tell)
    return prove_source(wanted, hands, world.store(broken_file_ok=True))
