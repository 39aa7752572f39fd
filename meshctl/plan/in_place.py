"""Plans on a host: a card holds one release and a port has one owner, so one goes before the other
comes. Pure."""

from __future__ import annotations

from meshctl.plan import refusals, traffic
from meshctl.plan.acts import Acts
from meshctl.plan.candidate import reusable, revision_name
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.question import check
from meshctl.plan.release import Release, release_of
from meshctl.plan.request import Request
from meshctl.plan.steps import Reason, StageRelease, StartRevision, StopRevision
from meshctl.plan.unit_template import listens, unit_template
from meshctl.plan.wanted import speaks_mesh
from meshctl.quantities import show_seconds
from meshctl.spec.model import PayloadFile, PodmanTarget

PAYLOAD = "payload:"


def on_host(request: Request) -> bool:
    """Whether the target is a host."""
    return isinstance(request.fleet.targets[request.target], PodmanTarget)


def wanted_unit(request: Request) -> Release:
    """The release that the fleet wants there; its text was rendered by who knows units."""
    return release_of(unit_template(request.unit))


def acts_of(request: Request, seen: ServiceSeen | None, release: Release) -> Acts:
    """Proved, then started in the place of what stands, which is stopped before; then asked. All
    that can be found out beforehand is found out before anything stops."""
    known = reusable(seen, release) if seen else None
    name = known.name if known else revision_name(request, release)
    was = standing(seen)
    acts: Acts = [_stage(request, release)]
    if was is not None and was.name != name:
        acts.append(stop(was, name))
    acts.append(start(release, name, was.name if was else None))
    bake_s = request.service.rollout.bake
    asked = check(request, release, name, "service", bake_s=bake_s)
    acts.append((f"ask the battery {where(release)}", asked))
    return acts


def back_to(seen: ServiceSeen, revision: Revision) -> Acts:
    """The same for a release that served before and was proved then; but for its image, and what
    else it names: what is gone by now must not be found out after something was stopped."""
    was = standing(seen)
    release = Release(id=revision.release, template=revision.template)
    template = release.template
    image = template.image
    act = StageRelease(image=image, build=None, files={}, unit=template.unit, again=True)
    acts: Acts = [("see that what it needs is still there", act)]
    acts += [stop(was, revision.name)] if was and was.name != revision.name else []
    return [*acts, start(release, revision.name, was.name if was else None)]


def stop(was: Revision, by: str) -> tuple[str, StopRevision]:
    """What serves makes room. Nobody is served from here on."""
    release = Release(id=was.release, template=was.template)
    text = f"stop {was.name}, and wait until its memory is free"
    return text, StopRevision(release=release, revision=was.name, by=by)


def start(release: Release, name: str, instead_of: str | None) -> tuple[str, StartRevision]:
    """It has the traffic as soon as it answers."""
    longest = show_seconds(release.template.probe.failures)
    text = f"start {name}, and wait until it serves, {longest} at most"
    return text, StartRevision(release=release, revision=name, instead_of=instead_of)


def where(release: Release) -> str:
    """Where it is asked, in words."""
    return f"on {', '.join(listens(release.template.unit)) or 'its port'} of the host"


def standing(seen: ServiceSeen | None) -> Revision | None:
    """What the host would start now, whether it runs or not."""
    rows = traffic.named(seen) if seen else ()
    return seen.revision(rows[0].revision) if seen and rows else None


def refused(request: Request, seen: ServiceSeen | None) -> list[Reason]:
    """Why it must not even begin."""
    service, path = request.service, f"services.{request.key}"
    place = request.fleet.place
    reasons = [*refusals.built(request)] if service.runtime == "podman" else []
    reasons += refusals.unfinished(request)
    if service.role != "standalone" and not speaks_mesh(service):
        message = f"a {service.role} without `mesh` in its args answers for nobody but itself"
        hint = "write `args: [mesh]`"
        reasons.append(Reason(message=message, hint=hint, place=place(f"{path}.args")))
    if service.front is not None:
        message = "`front: mesh` is not carried out in this version: nothing holds requests yet"
        hint = "leave it out: the release is replaced with an outage, which the plan shows"
        reasons.append(Reason(message=message, hint=hint, place=place(f"{path}.front")))
    return [*reasons, *(_strange(request, seen) if seen else ())]


def _strange(request: Request, seen: ServiceSeen) -> list[Reason]:
    """What stands there is not what meshctl put there: whoever wrote it had a reason."""
    if seen.barred:
        hint = f"look at it with `systemctl cat {request.name}`, move what is not ours into the "
        hint += "fleet file, and take it away there"
        return [Reason(message=seen.barred, hint=hint, place=_place(request))]
    was, unsure = standing(seen), request.ledger.unfinished or request.ledger.damaged
    known = {name for split in request.ledger.last_splits for name in split}
    if was is None or request.take_traffic or unsure or was.name in known:
        return []
    return [
        Reason(
            message=f"the unit that stands there ({was.name}) is not what meshctl last put there",
            hint="find out who wrote it and why; `--take-traffic` carries on: it is kept on the "
            "host, and undo starts it again",
            place=_place(request),
        )
    ]


def alone_there(request: Request) -> Reason:
    """Why nothing can be placed beside."""
    return Reason(
        message=f"{request.target} has one port and one card for {request.key}, so no release can "
        "be tried beside the one that serves",
        hint=f"`meshctl plan {request.key}` shows what `meshctl deploy {request.key}` replaces, "
        "and how it goes back",
        place=_place(request),
    )


def _place(request: Request) -> str:
    return f"{request.target}/{request.name}"


def _stage(request: Request, release: Release) -> tuple[str, StageRelease]:
    files = _files(request)
    act = StageRelease(
        image=release.template.image,
        build=None,
        files={name: (file.bytes, file.sha256) for name, (_, file) in files.items()},
        objects={name: path for name, (path, _) in files.items()},
        unit=release.template.unit,
    )
    image = release.template.image.partition("@")[0].rpartition("/")[2]
    many = f" and {len(files)} payload file{'' if len(files) == 1 else 's'}" if files else ""
    return f"prove {f'image {image}' if image else 'the unit'}{many} on {request.target}", act


def _files(request: Request) -> dict[str, tuple[str, PayloadFile]]:
    """Every file of a payload that is mounted, as PAYLOAD/FILE, with its path on the host."""
    target = request.fleet.targets[request.target]
    assert isinstance(target, PodmanTarget), "only such services are planned here"
    mounted = {value.removeprefix(PAYLOAD) for value in request.service.mounts.values()
               if value.startswith(PAYLOAD)}  # fmt: skip
    return {
        f"{payload}/{name}": (f"{target.payloads}/{payload}/{name}", file)
        for payload in sorted(mounted)
        for name, file in request.fleet.payloads[payload].files.items()
    }
