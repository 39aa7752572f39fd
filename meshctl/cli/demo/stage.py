"""What the scenes are played on: a private folder, an embedded cloud, a client that asks."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import meshctl
from meshctl.cli.demo.client import Client
from meshctl.cli.demo.folder import Folder, private_folder
from meshctl.cli.embedded import Embedded
from meshctl.cli.world import World
from meshctl.errors import MeshctlError
from meshctl.outside.clock import Clock
from meshctl.outside.cloudrun import CloudRunApi, RestCloudRun
from meshctl.outside.gcp import Cloud
from meshctl.outside.http import Http
from meshctl.outside.interrupts import Interrupts, watched
from meshctl.outside.objects import DirStore, ObjectStore
from meshctl.outside.shell import terminate
from meshctl.state.site import Site
from meshctl.ui.output import Output

SERVICE, TARGET, PROJECT, REGION = "chat", "local", "local", "local1"
"""As configs/local.yaml names them."""
SITE = Site(f"{PROJECT}:{REGION}")


@dataclass(frozen=True)
class Stage:
    """Everything a scene may touch; `environ` is that of the commands it types."""

    folder: Folder
    environ: Mapping[str, str]
    api: CloudRunApi
    client: Client
    http: Http
    clock: Clock
    output: Output
    interrupts: Interrupts
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def store(self) -> ObjectStore:
        """Where the commands keep their journals."""
        return DirStore(self.folder.state)

    def url(self) -> str:
        """The public URL of the service; empty while there is none."""
        return str((self.api.get_service(SERVICE) or {}).get("uri", ""))


@contextlib.contextmanager
def open_stage(world: World) -> Iterator[Stage]:
    """Set everything up, and take it down however the block ends: nothing is left behind."""
    with watched(world.settings.timeout_s) as interrupts, private_folder() as folder:
        environ = private_environ(world.environ, folder)
        with embedded_cloud(world, folder, environ) as cloud:
            api = RestCloudRun(cloud, world.calls)
            with Client(world.http, world.clock) as client:
                yield Stage(
                    folder, environ, api, client, world.http, world.clock, world.output, interrupts
                )


def private_environ(environ: Mapping[str, str], folder: Folder) -> dict[str, str]:
    """The operator's environment without their settings, and with the demo's fleet; the commands
    are of the very meshctl that runs the demo, wherever it was started from."""
    kept = {name: value for name, value in environ.items() if not name.startswith("MESHCTL_")}
    paths = [str(Path(meshctl.__file__).parents[1]), kept.get("PYTHONPATH", "")]
    here = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return kept | here | {"MESHCTL_FLEET": str(folder.fleet)}


@contextlib.contextmanager
def embedded_cloud(world: World, folder: Folder, environ: Mapping[str, str]) -> Iterator[Cloud]:
    """An embedded cloud of the demo's own. It is started here and not by the first command, which
    could be killed while it waits, and leave a cloud behind that nobody knows of."""
    embedded = Embedded(folder.cloud, world.clock, world.http, environ)
    try:
        world.output.progress("starting the embedded cloud")
        yield Cloud(PROJECT, REGION, embedded.start().url)
    finally:
        world.output.progress("stopping the embedded cloud")
        _stop(embedded)


def _stop(embedded: Embedded) -> None:
    try:
        embedded.stop()
    except MeshctlError:
        running = embedded.running()
        if running:  # its children die with it
            terminate(running.pid, hard=True)
