"""Opens the folder that a payload's source names, whatever scheme it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshctl.errors import Refused, UsageError
from meshctl.outside.clock import Clock
from meshctl.outside.gcp import Calls, Cloud
from meshctl.outside.http import Http
from meshctl.outside.objects_place import BucketPlace, emulator_of, r2_endpoint, r2_keys
from meshctl.outside.packages import SCHEME, folder_of
from meshctl.outside.ranges import DiskFile, DiskFolder, Folder, Missing, Ranges
from meshctl.outside.ranges_buckets import GcsFolder, S3Folder
from meshctl.outside.ranges_http import hub_folder, web_folder
from meshctl.spec.sources import Source


@dataclass(frozen=True)
class Doors:
    """What opening needs; `base` is where relative paths of `file:` start, `cloud` is where the
    buckets of gs:// are (the environment's, unless a fleet says other)."""

    http: Http
    environ: Mapping[str, str]
    clock: Clock
    calls: Calls
    base: Path = Path()
    cloud: Callable[[], Cloud | None] = lambda: None


def open_folder(source: Source, path: str, doors: Doors) -> Folder:
    """`path` below the place of the source, empty for its top. Raises UsageError and Refused."""
    below = f"{path.strip('/')}/" if path.strip("/") else ""
    match source.scheme:
        case "hub":
            return hub_folder(
                source.place, source.commit, below, doors.http, doors.calls, doors.environ
            )
        case "https":
            return web_folder(f"https://{source.place}/{below}x", doors.http, doors.calls)[0]
        case "gs":
            from meshctl.outside.storage import RestStorage

            cloud = doors.cloud() or Cloud("", "", emulator_of(doors.environ))
            return GcsFolder(RestStorage(cloud, doors.calls, doors.clock), source.place, below)
        case "s3" | "r2":
            return _s3(source, below, doors)
        case "file":
            return DiskFolder(doors.base / source.place / below)
        case "package":
            return PackageFolder(f"{SCHEME}{source.place}/{below}".rstrip("/"))
    raise Refused(
        "an image is no place whose files can be read one by one",
        place=f"{source.scheme}:{source.place}",
        hint="name the place its files came from, or a file in `podman run`",
    )


def _s3(source: Source, prefix: str, doors: Doors) -> S3Folder:
    place = f"{source.scheme}://{source.place}"
    return S3Folder(s3_maker(source, doors), place, source.place, prefix, doors.calls)


def s3_maker(source: Source, doors: Doors) -> Callable[[], Any]:
    """Makes the client of a bucket of s3:// or r2://. Raises UsageError for an R2 bucket without an
    account; what it returns, for an endpoint that is no URL."""
    r2 = source.scheme == "r2"
    where = BucketPlace("r2" if r2 else "s3", source.place, "")
    endpoint = r2_endpoint(where, doors.environ) if r2 else None
    keys = r2_keys(doors.environ) if r2 else None

    def client() -> Any:
        from meshctl.outside.objects_s3 import s3_client

        try:
            return s3_client(endpoint, "auto" if r2 else None, keys)
        except ValueError as error:
            raise UsageError(str(error), place=str(where), hint="correct the endpoint") from error

    return client


class PackageFolder:
    """A folder of an installed distribution."""

    def __init__(self, reference: str) -> None:
        self.reference, self.shown = reference, f"{reference}/"

    def open(self, name: str) -> Ranges:
        found = [at for path, at in folder_of(self.reference) if f"/{path}".endswith(f"/{name}")]
        if len(found) != 1:
            raise Missing(
                f"{self.reference} has {len(found)} files {name}", place=self.reference,
                hint="write more of its path, or reinstall the distribution",
            )  # fmt: skip
        return DiskFile(found[0])
