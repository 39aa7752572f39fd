"""Finds out what became of a recipe and a context since a build, reading little."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshctl.build.context import Context, Hashed, freeze
from meshctl.build.recipe import read_recipe
from meshctl.build.request import BuildRequest
from meshctl.errors import MeshctlError, Refused
from meshctl.outside.digests import Digests
from meshctl.outside.folder import sha256_of
from meshctl.plan.source import SourceSeen
from meshctl.quantities import show_bytes
from meshctl.state.builds import Built

MOST_BYTES = 32 * 2**20
"""So much is read to answer a question that nobody asked: about 30 ms."""


@dataclass
class _Found:
    changed: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)


def source_seen(
    request: BuildRequest, digests: Digests, built: Built | None, begun: Built | None
) -> SourceSeen:
    """What differs from the build. Never raises: what cannot be known is said to be unknown."""
    if built is None:
        return SourceSeen(begun=begun)
    found = _Found()
    for part, digest, then in (
        ("recipe", _recipe, built.recipe_digest),
        ("context", _context, built.context_digest),
    ):
        try:
            if digest(request, digests) != then:
                found.changed.append(part)
        except MeshctlError as error:
            found.unknown[part] = error.message
    return SourceSeen(tuple(found.changed), found.unknown, begun)


def _recipe(request: BuildRequest, _: Digests) -> str:
    repository, _tag, spec = request.parts
    return read_recipe(request.folder / spec.config, spec, repository).digest


def _context(request: BuildRequest, digests: Digests) -> str:
    """The digest of the context as it is; files that are as the last build read them are not read
    again. Raises Refused where that leaves too much."""
    spec = request.parts.build
    folder = request.folder / spec.context
    context = freeze(
        folder, spec.include, request.payloads, request.place, request.exclude, glance=True
    )
    known = digests.known(request.image, context.entries)
    return Hashed(context, known | _read(context, known)).digest


def _read(context: Context, known: dict[str, str]) -> dict[str, str]:
    left = [e for e in context.entries if e.link is None and e.path not in known]
    size = sum(entry.bytes for entry in left)
    if size > MOST_BYTES:
        raise Refused(
            f"{show_bytes(size)} in {len(left)} files are not what the last build on this machine "
            "read, and were not read now",
            hint="build it",
        )
    return {entry.path: sha256_of(entry) for entry in left}
