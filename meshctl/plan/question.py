"""The checks of a plan: which release is asked, on which path, and how patiently. Pure."""

from __future__ import annotations

from typing import Literal

from meshctl.plan.asks import asks_of
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.release import Release
from meshctl.plan.request import Request
from meshctl.plan.steps import CheckRelease
from meshctl.plan.wanted import speaks_mesh
from meshctl.spec.model import Rollout as RolloutPolicy

Where = Literal["tag", "service", "public"]


def check(
    request: Request,
    release: Release,
    revision: str,
    where: Where,
    tag: str | None = None,
    *,
    bake_s: float = 0.0,
) -> CheckRelease:
    """The battery of the service, asked of a release; only the mesh can say which one it is."""
    return CheckRelease(
        where=where,
        revision=revision,
        tag=tag,
        release=release.id,
        identity=speaks_mesh(request.service),
        asks=asks_of(release.template, request.service.checks, request.service.rollout),
        bake_s=bake_s,
    )


def before_of(
    seen: ServiceSeen, battery: tuple[str, ...], policy: RolloutPolicy
) -> CheckRelease | None:
    """The question to the release that serves now, for when it has to be asked again. A unit that
    is down has nothing to be asked."""
    main = seen.main
    if main is None or (seen.on_host and not seen.ready):
        return None
    return CheckRelease(
        where="public" if seen.public else "service",
        revision=main.name,
        tag=None,
        release=main.release,
        identity=len(seen.serving) == 1 and says_its_release(main),
        asks=asks_of(main.template, battery, policy),
    )


def says_its_release(revision: Revision) -> bool:
    """Whether its answers carry its own id: every release of ours has MESH_RELEASE, but only the
    mesh tells it; and other clients copy it into new revisions."""
    told = revision.template.environment.get("MESH_RELEASE")
    return speaks_mesh(revision.template) and told == revision.release


def public_path(seen: ServiceSeen) -> Where:
    """The path on which clients come."""
    return "public" if seen.public else "service"


def public_text(seen: ServiceSeen) -> str:
    """What a check on that path does, in words."""
    return "ask the battery on the public URL" if seen.public else "ask the battery on its URL"
