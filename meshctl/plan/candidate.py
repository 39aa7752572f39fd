"""A new release on its way into the target: proved, placed, and asked there. Pure."""

from __future__ import annotations

from meshctl.plan import refusals, traffic
from meshctl.plan.acts import Acts
from meshctl.plan.delivery import files_of, objects_of
from meshctl.plan.observed import Revision, ServiceScaling, ServiceSeen
from meshctl.plan.question import check
from meshctl.plan.release import Release, Template
from meshctl.plan.request import Request
from meshctl.plan.steps import Act, CreateService, PlaceRevision, ShiftAccess, StageRelease


def create(request: Request, release: Release) -> Acts:
    """A first release has no old one to fall back on: it is proved before anyone else may call."""
    name = revision_name(request, release)
    scaling = ServiceScaling(min=request.service.scaling.service_min)
    acts = [
        _stage(request, release),
        ("create it, for us alone", CreateService(release=release, revision=name, scaling=scaling)),
        ("ask the battery, with our own identity", check(request, release, name, "service")),
    ]
    if request.service.access == "public":
        acts += [
            ("open it to everyone", ShiftAccess(public=True, found=False)),
            ("ask the battery on the public URL", check(request, release, name, "public")),
        ]
    return acts


def candidate(request: Request, seen: ServiceSeen, release: Release) -> Acts:
    """Proved, placed at 0 % with a tag, and asked there."""
    known = reusable(seen, release)
    name = known.name if known else revision_name(request, release)
    tag = request.tag or tag_of(request, release)
    again = ", as it was placed before" if known else ""
    return [
        _stage(request, release),
        (
            f"place {name} at 0 % with tag {tag}{again}",
            PlaceRevision(
                release=release,
                revision=name,
                tag=tag,
                found=traffic.named(seen),
                tagged=_tagged(seen, tag, name),
            ),
        ),
        (f"ask the battery on tag {tag}", check(request, release, name, "tag", tag)),
    ]


def _tagged(seen: ServiceSeen, tag: str, revision: str) -> str | None:
    """The other revision that has the tag now."""
    holders = (seen.resolve(row.revision) for row in seen.traffic if row.tag == tag)
    return next((name for name in holders if name != revision), None)


def reusable(seen: ServiceSeen, release: Release) -> Revision | None:
    """A ready revision of exactly this release, the newest first."""
    return next((r for r in seen.revisions if r.release == release.id and r.ready), None)


def _stage(request: Request, release: Release) -> tuple[str, Act]:
    files = files_of(request.fleet, request.service)
    payloads = {path: (file.bytes, file.sha256) for path, file in files.items()}
    act = StageRelease(
        image=release.template.image,
        build=request.built.build if request.built else None,
        files=payloads,
        objects=objects_of(request.fleet, request.service),
    )
    files_too = f" and {len(payloads)} payload file{'' if len(payloads) == 1 else 's'}"
    return f"prove image {_short_image(release.template)}{files_too if payloads else ''}", act


def _short_image(template: Template) -> str:
    repository, _, digest = template.image.partition("@")
    return f"{repository.rpartition('/')[2]}@{digest[:19]}"


def revision_name(request: Request, release: Release) -> str:
    """SERVICE-RELEASE-SALT within 63 characters. The salt, because a name that was used with
    another template, or whose revision failed, cannot be used again (409 ALREADY_EXISTS)."""
    room = 63 - len(request.name) - len(request.salt) - 2
    return f"{request.name}-{release.id[:room]}-{request.salt}"


def tag_of(request: Request, release: Release) -> str:
    """The candidate's tag, shortened until tag and service name fit their 46 characters."""
    return f"c{release.id[1:8]}"[: refusals.TAG_AND_NAME - len(request.name)]
