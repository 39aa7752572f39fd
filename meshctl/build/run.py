"""Builds an image: freeze, reuse or reserve a tag, pack, upload, build, record."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from meshctl.build.archive import pack
from meshctl.build.context import Hashed, freeze, hashed
from meshctl.build.origin import origin
from meshctl.build.recipe import Recipe, read_recipe
from meshctl.build.request import BuildRequest, Doors, Note, silent
from meshctl.build.reuse import in_flight, reusable
from meshctl.build.send import sent
from meshctl.build.tags import highest, tag_of
from meshctl.build.watch import ended, pushed_digest, submitted
from meshctl.errors import Interrupted, MeshctlError, Refused, Unreachable
from meshctl.outside.clock import rfc3339
from meshctl.state.builds import LAST_NUMBER, Built, last_number, latest, record, reserve

Json = dict[str, Any]


def build(request: BuildRequest, doors: Doors, note: Note = silent, *, wait: bool = True) -> Built:
    """The image's digest under a new tag, or that of the same build made before (`reused`).

    A build of the same that is under way is followed, whoever began it. Without `wait` the build
    is only started: it has an id and no digest yet.

    Raises UsageError for a context or recipe that cannot be acted on, Refused when a file changes
    meanwhile, CheckFailed with the failing step when the build fails, Unreachable when the cloud
    is silent. A number that was reserved is never used again, whatever comes of it.
    """
    repository, _, spec = request.parts
    recipe = read_recipe(request.folder / spec.config, spec, repository)
    contents = _frozen(request, note)
    doors.digests.keep(request.image, contents.by_entry)
    known = reusable(request, doors, contents.digest, recipe.digest)
    if known is not None:
        note("reused", tag=known.tag, digest=known.digest)
        return _newest_again(doors, known)
    begun = in_flight(request, doors, contents.digest, recipe.digest)
    if begun is not None:
        note("attached", tag=begun.tag, build=begun.build)
    started = begun or _begun(request, doors, contents, recipe, note)
    if not wait:
        return started
    with _failed_on_error(doors, started, ours=begun is None):
        return _finished(request, doors, recipe, started, note, ours=begun is None)


def _newest_again(doors: Doors, known: Built) -> Built:
    """Deploy takes the newest record: where another build was made since, what is reused is
    recorded once more, under a number of its own and the tag it has."""
    done = latest(doors.store, known.image, known.repository).done
    if done is None or done.number == known.number:
        return known
    number, at = last_number(doors.store, known.image), rfc3339(doors.clock.now())
    while (number := number + 1) <= LAST_NUMBER:
        again = known.model_copy(update={"number": number, "at": at})
        if reserve(doors.store, again):
            return again
    raise _used_up(known.image)


def _begun(
    request: BuildRequest, doors: Doors, contents: Hashed, recipe: Recipe, note: Note
) -> Built:
    reserved = _reserved(request, doors, contents, recipe)
    note("reserved", tag=reserved.tag)
    with _failed_on_error(doors, reserved):
        return _started(request, doors, contents, recipe, reserved, note)


def _frozen(request: BuildRequest, note: Note) -> Hashed:
    spec = request.parts.build
    folder = request.folder / spec.context
    context = freeze(folder, spec.include, request.payloads, request.place, request.exclude)
    note("frozen", files=len(context.entries), bytes=context.bytes, largest=context.largest())
    return hashed(context)


def _reserved(request: BuildRequest, doors: Doors, contents: Hashed, recipe: Recipe) -> Built:
    """Take the first free number after all that the cloud and our records know of."""
    repository, pattern, spec = request.parts
    commit, dirty = origin(doors.shell, request.folder / spec.context)
    used = max(
        highest(pattern, repository, doors.builds.list_builds()),
        last_number(doors.store, request.image),
    )
    for number in range(used + 1, LAST_NUMBER + 1):
        built = Built(
            image=request.image,
            repository=repository,
            tag=tag_of(pattern, number),
            number=number,
            state="reserved",
            project=request.cloud.project,
            region=request.cloud.region,
            at=rfc3339(doors.clock.now()),
            context_digest=contents.digest,
            recipe_digest=recipe.digest,
            files=contents.files,
            commit=commit,
            dirty=dirty,
        )
        if reserve(doors.store, built):
            return built
    raise _used_up(request.image)


def _used_up(image: str) -> Refused:
    return Refused(
        f"the numbers of {image} are used up",
        place=f"images.{image}.tag",
        hint="change the form of the tag and the name of the image",
    )


def _started(
    request: BuildRequest,
    doors: Doors,
    contents: Hashed,
    recipe: Recipe,
    built: Built,
    note: Note,
) -> Built:
    """Pack, upload and start the build; the record then says which build of the cloud it is."""
    with tempfile.TemporaryDirectory(prefix="meshctl-build-") as scratch:
        archive = Path(scratch, "source.tgz")
        pack(contents, archive, lambda done: note("pack", bytes=done, of=contents.context.bytes))
        source = sent(request, doors, archive, built.context_digest, note)
    reference = f"{built.repository}:{built.tag}"
    accepted = submitted(doors, recipe.build(built.tag, source), reference)
    started = built.model_copy(update={"build": accepted["id"], "bytes": source.bytes})
    record(doors.store, started)
    return started


def _finished(
    request: BuildRequest,
    doors: Doors,
    recipe: Recipe,
    started: Built,
    note: Note,
    *,
    ours: bool,
) -> Built:
    final = ended(doors, started.build, recipe.timeout_s, note, ours=ours)
    reference = f"{started.repository}:{started.tag}"
    digest = pushed_digest(doors, final, reference, request.place)
    done = started.model_copy(update={"state": "done", "digest": digest})
    record(doors.store, done)
    return done


@contextlib.contextmanager
def _failed_on_error(doors: Doors, built: Built, *, ours: bool = True) -> Iterator[None]:
    """Record the build as failed, unless it may still be running where we cannot see it, or goes
    on because it is another's and only its follower was interrupted."""
    try:
        yield
    except BaseException as error:
        out_of_sight = bool(built.build) and isinstance(error, Unreachable)
        goes_on = not ours and isinstance(error, KeyboardInterrupt | Interrupted)
        if not out_of_sight and not goes_on:
            with contextlib.suppress(MeshctlError):
                record(doors.store, built.model_copy(update={"state": "failed"}))
        raise
