"""Finds the build that already made exactly this image, or is making it."""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.build.request import BuildRequest, Doors
from meshctl.outside.gcp import NotFound
from meshctl.state.builds import Built, builds_of


def reusable(
    request: BuildRequest, doors: Doors, context_digest: str, recipe_digest: str
) -> Built | None:
    """The newest finished build of the same context and recipe that the cloud still knows.

    The cloud is asked because its images may be gone although our record stands: an embedded cloud
    that was reset, a project that was recreated.
    """
    for built in _of_the_same(request, doors, context_digest, recipe_digest):
        if built.state == "done" and _is_known(doors, built):
            return built.model_copy(update={"reused": True})
    return None


def in_flight(
    request: BuildRequest, doors: Doors, context_digest: str, recipe_digest: str
) -> Built | None:
    """The build of the same context and recipe that was started and not followed to its end: with
    --async, or by a process that was killed, perhaps before it could note the build's id."""
    open_ones = [
        built
        for built in _of_the_same(request, doors, context_digest, recipe_digest)
        if built.state == "reserved"
    ]
    if not open_ones:
        return None
    known = {name: str(build["id"]) for build in doors.builds.list_builds()
             for name in build.get("substitutions", {}).values()}  # fmt: skip
    for built in open_ones:
        if id := known.get(f"{built.repository}:{built.tag}"):
            return built.model_copy(update={"build": id})
    return None


def _of_the_same(
    request: BuildRequest, doors: Doors, context_digest: str, recipe_digest: str
) -> Iterator[Built]:
    wanted = (context_digest, recipe_digest, request.cloud.project)
    for built in builds_of(doors.store, request.image):
        if (built.context_digest, built.recipe_digest, built.project) == wanted:
            yield built


def _is_known(doors: Doors, built: Built) -> bool:
    try:
        return bool(doors.builds.get_build(built.build)["status"] == "SUCCESS")
    except NotFound:
        return False
