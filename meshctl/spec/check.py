"""Finds what is wrong between the keys of a fleet, such as names that lead nowhere. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from meshctl.spec.endpoint import check_endpoint
from meshctl.spec.fetched import check_fetch
from meshctl.spec.model import (
    FORMS,
    REGION,
    SERVICE_NAME,
    Accelerator,
    Fleet,
    Image,
    Payload,
    PriceList,
)
from meshctl.spec.near import near
from meshctl.spec.scalars import shown
from meshctl.spec.sources import (
    is_inside,
    parse_source,
    refuse_included,
    refuse_reference,
    refuse_repository,
    refuse_tag,
)
from meshctl.spec.tree import Complaint

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_SUBSTITUTION = re.compile(r"_[A-Z0-9_]{1,99}")
"""Cloud Build: a user's own substitution begins with an underscore, at most 100 characters."""


@dataclass(frozen=True)
class Names:
    """What may be referred to, sound or not: a broken image is not also an unknown one."""

    targets: frozenset[str]
    images: frozenset[str]
    payloads: frozenset[str]

    @classmethod
    def written(cls, data: Mapping[str, Any]) -> Names:
        """The names in a tree as it was written."""
        sections = (data.get(section) for section in ("targets", "images", "payloads"))
        return cls(
            *(frozenset(each) if isinstance(each, dict) else frozenset() for each in sections)
        )

    @classmethod
    def of(cls, fleet: Fleet) -> Names:
        """The names of a fleet that is whole."""
        return cls(frozenset(fleet.targets), frozenset(fleet.images), frozenset(fleet.payloads))


def check(fleet: Fleet, names: Names | None = None) -> Iterator[Complaint]:
    """Everything that the types alone cannot see; nothing when the fleet is sound."""
    known = names or Names.of(fleet)
    yield from _names(fleet)
    yield from _state(fleet.state)
    for name, image in fleet.images.items():
        yield from _under(f"images.{name}", _image(image, known))
    for name, payload in fleet.payloads.items():
        yield from _under(f"payloads.{name}", _payload(payload))
    for name, service in fleet.services.items():
        path = f"services.{name}"
        yield from _under(path, check_references(fleet, name, known))
        yield from _under(path, check_endpoint(service, fleet.targets))
        yield from _under(path, check_fetch(service, fleet.payloads))
    yield from _same_names(fleet)
    yield from _prices(fleet.prices)


def _prices(prices: PriceList | None) -> Iterator[Complaint]:
    """A price under a name that nothing has would never be found."""
    for region, rates in prices.regions.items() if prices else ():
        if not re.fullmatch(REGION, region):
            yield Complaint(
                f"prices.regions.{region}", f"{shown(region)} is no region", FORMS[REGION]
            )
        for gpu in rates.gpus:
            if gpu not in get_args(Accelerator):
                message = f"no accelerator named {shown(gpu)}"
                hint = near(gpu, get_args(Accelerator))
                yield Complaint(f"prices.regions.{region}.gpus.{gpu}", message, hint)


def _under(path: str, complaints: Iterator[Complaint]) -> Iterator[Complaint]:
    for complaint in complaints:
        yield complaint._replace(path=f"{path}.{complaint.path}" if complaint.path else path)


def _names(fleet: Fleet) -> Iterator[Complaint]:
    for section in ("targets", "images", "payloads"):
        for name in getattr(fleet, section):
            if not _NAME.fullmatch(name):
                message = f"{shown(name)} is not a name"
                hint = "1 to 63 letters, digits, `.`, `_` and `-`, a letter or digit first"
                yield Complaint(f"{section}.{name}", message, hint)
    for name in fleet.services:
        if not re.fullmatch(SERVICE_NAME, name):
            hint = "1 to 49 lowercase letters, digits and hyphens, a letter first, no hyphen last"
            yield Complaint(f"services.{name}", f"{shown(name)} is not a service name", hint)


def _state(state: str | None) -> Iterator[Complaint]:
    scheme, found, rest = (state or "").partition("://")
    if found and (scheme not in ("gs", "s3", "r2") or not rest.strip("/")):
        message = "the state is kept in gs://BUCKET, s3://BUCKET, r2://BUCKET or a folder"
        yield Complaint("state", message, "a folder is relative to this file")


def _image(image: Image, known: Names) -> Iterator[Complaint]:
    made = {"repository": image.repository, "tag": image.tag, "build": image.build}
    missing = [key for key, value in made.items() if value is None]
    if image.ref is not None and len(missing) < 3:
        written = " and ".join(key for key in made if key not in missing)
        yield Complaint("ref", f"an image has a ref, or {written}, but not both", "keep one")
    elif image.ref is None and missing:
        message = (
            f"{' and '.join(missing)} missing: an image has a ref, or repository, tag and build"
        )
        yield Complaint("", message, "REPOSITORY@sha256:DIGEST for an image that exists")
    for key, value, refuse in (
        ("ref", image.ref, refuse_reference),
        ("repository", image.repository, refuse_repository),
        ("tag", image.tag, refuse_tag),
    ):
        if value is not None and (message := refuse(value)):
            yield Complaint(key, message, "" if key == "ref" else f"change {key}")
    if image.build is not None:
        yield from _under("build", _build(image, known))


def _build(image: Image, known: Names) -> Iterator[Complaint]:
    assert image.build is not None
    for name in image.build.substitutions:
        if not _SUBSTITUTION.fullmatch(name):
            message = f"{shown(name)} is not the name of a substitution"
            yield Complaint(f"substitutions.{name}", message, "`_`, then capitals, digits and `_`")
    for path, value in image.build.include.items():
        if not is_inside(path):
            yield Complaint(f"include.{path}", f"{shown(path)} leaves the context", _INSIDE)
        message, hint = refuse_included(value, known.payloads)
        if message:
            yield Complaint(f"include.{path}", message, hint)


_INSIDE = "a relative path without `..`"


def _payload(payload: Payload) -> Iterator[Complaint]:
    try:
        parse_source(payload.source)
    except ValueError as error:
        yield Complaint("source", str(error), "see `meshctl config example`")
    for name in payload.files:
        if not is_inside(name):
            yield Complaint(f"files.{name}", f"{shown(name)} leaves the payload's folder", _INSIDE)


def check_references(fleet: Fleet, name: str, known: Names) -> Iterator[Complaint]:
    """Names in a service that lead nowhere; paths begin at the service."""
    service = fleet.services[name]
    for target in service.target:
        if target not in known.targets:
            message = f"no target named {shown(target)}"
            yield Complaint("target", message, near(target, known.targets))
    for target, count in Counter(service.target).items():
        if count > 1:
            yield Complaint("target", f"{shown(target)} stands {count} times", "once is enough")
    if service.image not in known.images:
        message = f"no image named {shown(service.image)}"
        yield Complaint("image", message, near(service.image, known.images))
    used = {f"models.{m}.payload": model.payload for m, model in service.models.items()}
    mounted = {f"mounts.{path}": value for path, value in service.mounts.items()}
    for path, value in mounted.items():
        if value.startswith("payload:"):
            used[path] = value.removeprefix("payload:")
    for path, payload in used.items():
        if payload is not None and payload not in known.payloads:
            message = f"no payload named {shown(payload)}"
            yield Complaint(path, message, near(payload, known.payloads))


def _same_names(fleet: Fleet) -> Iterator[Complaint]:
    first: dict[tuple[str, str], str] = {}
    for name, service in fleet.services.items():
        for target in dict.fromkeys(service.target):
            other = first.setdefault((target, service.name or name), name)
            if other != name:
                message = f'"{service.name or name}" on target {target} is already services.{other}'
                path = f"services.{name}.name" if service.name else f"services.{name}"
                yield Complaint(path, message, "give one of them another `name`")
