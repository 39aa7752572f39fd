"""What a build is asked for, and the doors through which it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from meshctl.errors import UsageError
from meshctl.outside.clock import Clock
from meshctl.outside.cloudbuild import CloudBuildApi
from meshctl.outside.digests import Digests
from meshctl.outside.gcp import Cloud
from meshctl.outside.objects import ObjectStore
from meshctl.outside.sessions import Sessions
from meshctl.outside.shell import Shell
from meshctl.outside.storage import StorageApi
from meshctl.spec.model import Build, Image, Payload


class Note(Protocol):
    """Sees what a build does as it happens: `frozen`, `reserved`, `upload`, `status`, ..."""

    def __call__(self, event: str, **details: Any) -> None: ...


def silent(event: str, **details: Any) -> None:
    """The note of who does not want to know."""


class Parts(NamedTuple):
    """What an image that is built here must say."""

    repository: str
    tag: str
    build: Build


@dataclass(frozen=True)
class BuildRequest:
    """One image of a fleet; relative paths of its build start at `folder`. `exclude` are folders
    that are no part of a context, such as the state."""

    image: str
    spec: Image
    folder: Path
    payloads: dict[str, Payload]
    cloud: Cloud
    exclude: tuple[Path, ...] = ()

    @property
    def place(self) -> str:
        return f"images.{self.image}"

    @property
    def parts(self) -> Parts:
        """Repository, form of the tag and build. Raises UsageError for an image not built here."""
        spec = self.spec
        if spec.repository and spec.tag and spec.build:
            return Parts(spec.repository, spec.tag, spec.build)
        raise UsageError(
            f"the image {self.image} is not built here",
            place=self.place,
            hint="give it repository, tag and build, or deploy its ref as it is",
        )


@dataclass(frozen=True)
class Doors:
    """Everything outside that a build touches."""

    store: ObjectStore
    builds: CloudBuildApi
    uploads: StorageApi
    clock: Clock
    shell: Shell
    sessions: Sessions
    digests: Digests
