"""What stands on a host and what is kept there, read into a service with its releases. Pure.

The file that systemd would start now is what has the traffic, whether it runs or not; the files
that are kept beside it are the releases before. A release is named by its text, never by its label.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from meshctl.plan.observed import Revision, ServiceScaling, ServiceSeen, Share
from meshctl.plan.release import Template, release_of
from meshctl.plan.unit_template import listens, unit_template
from meshctl.targets.podman.readings.holders import images
from meshctl.targets.podman.readings.sections import ABSENT, Section, Sections
from meshctl.targets.podman.readings.unit import UnitSeen, units
from meshctl.targets.podman.readings.value import Known, Unknown, shown

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")
"""What may be part of a path on a host."""
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")


@dataclass(frozen=True)
class Standing:
    """The file of a unit: `ext` is container or service, `sha256` that of its bytes."""

    ext: str
    sha256: str
    revision: str


@dataclass(frozen=True)
class Place:
    """One service on a host: as a rollout sees it, and as the scripts need it."""

    seen: ServiceSeen | None
    standing: Standing | None
    unit: UnitSeen | None
    files: dict[str, str]
    """The file that is kept of each revision."""


def read_places(text: str, token: str, names: tuple[str, ...], host: str) -> dict[str, Place]:
    """Every service that was asked for. Raises ValueError for an answer that was cut: what is
    missing in it is unknown, never absent."""
    said = Sections(text, token)
    if not said.whole:
        raise ValueError("its answer was cut")
    there = _images(said["images"])
    return {name: _place(said, token, name, host, there) for name in names}


def _place(said: Sections, token: str, name: str, host: str, there: frozenset[str] | None) -> Place:
    kept = {revision: (ext, section) for revision, ext, section in _kept(said, name)}
    texts = {revision: section.text for revision, (_, section) in kept.items()}
    stands = [(ext, said[f"standing:{name}:{ext}"]) for ext in ("container", "service")]
    stands = [(ext, section) for ext, section in stands if section.rc != ABSENT]
    revisions = {
        revision: _revision(revision, section.text, section.rc, there)
        for revision, (_, section) in kept.items()
    }
    standing = None
    if stands:
        ext, section = stands[0]
        revision = next((one for one, text in texts.items() if text == section.text), None)
        if revision is None:
            found = _revision("", section.text, "", there)
            revision = f"{name}-{found.release}-found"
            revisions[revision] = found.model_copy(update={"name": revision})
        standing = Standing(ext, section.rc, revision)
    away = said.under(f"elsewhere:{name}:")
    if away and standing is None:
        found = _revision("", away[0].text, "", there)
        standing = Standing("service", "", f"{name}-{found.release}-found")
        revisions[standing.revision] = found.model_copy(update={"name": standing.revision})
    unit = _unit(said[f"unit:{name}"], said[f"journals:{name}"], token, f"{name}.service")
    files = {revision: f"{revision}.{ext}" for revision, (ext, _) in kept.items()}
    if not revisions:
        return Place(None, None, unit, files)
    drops = [said[f"drop-in:{name}:{ext}"].text for ext, _ in stands]
    seen = _seen(name, host, tuple(revisions.values()), standing, unit)
    barred = _barred(name, [ext for ext, _ in stands], [drop for drop in drops if drop])
    if away:
        path = shown(away[0].name.removeprefix(f"elsewhere:{name}:"))
        barred = f"{name}.service is the unit of {path}, which is not meshctl's to write"
    labels = _labels(said[f"labels:{name}"].text)
    seen = seen.model_copy(update={"barred": barred, "labels": labels})
    return Place(seen, standing, unit, files)


def _kept(said: Sections, name: str) -> list[tuple[str, str, Section]]:
    found = []
    for section in said.under(f"kept:{name}:"):
        revision, _, ext = section.name.rpartition(":")[2].rpartition(".")
        if NAME.fullmatch(revision) and revision.startswith(f"{name}-"):
            found.append((revision, ext, section))
    return found


def _revision(name: str, text: str, at: str, there: frozenset[str] | None) -> Revision:
    template = unit_template(text)
    gone = "@" in template.image and there is not None and template.image not in there
    return Revision(
        name=name or "found",
        release=release_of(template).id,
        template=template,
        ready=not gone,
        failed=gone,
        reason=f"its image {template.image} is not on the host any more" if gone else "",
        created=at.rjust(12, "0") if at.isdigit() else "",
    )


def _seen(
    name: str,
    host: str,
    revisions: tuple[Revision, ...],
    standing: Standing | None,
    unit: UnitSeen | None,
) -> ServiceSeen:
    rows = (Share(revision=standing.revision, percent=100),) if standing else ()
    stands = next((one for one in revisions if standing and one.name == standing.revision), None)
    active = unit.active if unit else ""
    return ServiceSeen(
        name=name,
        url=url_of(stands.template, host) if stands else "",
        etag=standing.sha256 if standing else "",
        generation=0,
        ready=active == "active",
        reconciling=active in ("activating", "deactivating", "reloading"),
        reason=_why(unit),
        traffic=rows,
        effective=rows,
        revisions=tuple(sorted(revisions, key=lambda one: one.name)),
        latest_ready=stands.name if stands else None,
        latest_created=stands.name if stands else None,
        scaling=ServiceScaling(),
        public=None,
        down=active == "inactive",
    )


def url_of(template: Template, host: str) -> str:
    """Where clients reach it: its first port, on the host's own address unless it is bound."""
    places = listens(template.unit)
    ip, _, port = places[0].rpartition(":") if places else ("", "", "")
    bound = ip not in ("", "127.0.0.1", "0.0.0.0")
    return f"http://{ip if bound else host}:{port}" if port else ""


def _why(unit: UnitSeen | None) -> str:
    """What speaks against the unit, in words; empty where nothing does."""
    if unit is None:
        return "systemd does not say how its unit does"
    said = []
    if unit.active != "active":
        said.append(f"{unit.name} is {unit.active or 'unknown'} ({unit.result or unit.load})")
    if isinstance(unit.restarts, Known) and unit.restarts.value:
        said.append(f"{unit.name} was restarted {unit.restarts.value} times since it was started")
    if said and unit.cause and unit.cause.line:
        said.append(unit.cause.line)
        said += [unit.cause.remedy] if unit.cause.remedy else []
    return "; ".join(said)


def _barred(name: str, exts: list[str], drops: list[str]) -> str:
    """Why nothing may be replaced there: the file alone is not what runs."""
    if len(exts) > 1:
        return f"{name} is both a quadlet and a plain unit; the plain one hides the other"
    if drops:
        return f"drop-ins change the unit, and no release holds them: {', '.join(drops)}"
    return ""


def _unit(section: Section, journal: Section, token: str, name: str) -> UnitSeen | None:
    alone = f"\n{token} section units 0\n{section.text}\n{token} section journals 0\n"
    read = units(Sections(alone + journal.text, token), token)
    if isinstance(read, Unknown):
        return None
    return next((one for one in read.value if one.name == name), None)


def _images(section: Section) -> frozenset[str] | None:
    """None where podman said nothing: an image that was not looked for is not gone."""
    if section.rc == ABSENT:
        return None
    read = images(section)
    if isinstance(read, Unknown):
        return None
    return frozenset(name for image in read.value for name in image.references)


def _labels(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        key: shown(value)
        for key, value in found.items()
        if _LABEL.fullmatch(key) and isinstance(value, str)
    }
