"""Turns a live service into the entries of a fleet file that mean the same. Pure.

The way back of `wanted`: whoever adopts compares the two, so a field that is forgotten here shows
up as a difference and not as a surprise in the next rollout.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from meshctl.errors import SpecError
from meshctl.plan import entries, said
from meshctl.plan.around import changes as around_changes
from meshctl.plan.change import Change
from meshctl.plan.delivery import DEFAULT_DIR, MODELS_DIR
from meshctl.plan.fetching import CACHE
from meshctl.plan.mounted import Mounted, mounted
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.release import NOT_HASHED, Template, changes, own_account
from meshctl.plan.request import Request
from meshctl.plan.wanted import image_reference, wanted_release
from meshctl.spec import federation
from meshctl.spec.model import CloudRunTarget, Fleet
from meshctl.spec.registry import VARIABLE, ModelEntry, parse_models, render_models
from meshctl.spec.written import escaped
from meshctl.state.peers import read_announced

DEFAULT_MODEL = "MESH_DEFAULT_MODEL"
Sections = dict[str, dict[str, Any]]
"""Entries by section and name, as a fleet file writes them."""
_SUSPECT = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE|API_?KEY", re.IGNORECASE)


@dataclass(frozen=True)
class Spot:
    """Where a live service stands in a fleet, declared there already or not."""

    key: str
    target: str
    place: CloudRunTarget
    declared: bool

    def account(self) -> str | None:
        """The account that the target gives to what says nothing about it."""
        return own_account(self.place.account)


@dataclass(frozen=True)
class Draft:
    """What to write, what was found beside it, and what a person should know. `peers` is the text
    of the announcement as it was found, for the journal."""

    sections: Sections
    peers: str | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def draft(
    spot: Spot, seen: ServiceSeen, main: Revision, account: str, fleet: Fleet | None
) -> Draft:
    """The entries for a service of which `main` serves; `account` is its own as it is written."""
    template = main.template
    models = registry(template)
    mounts = mounted(template, models or ())
    image, images = entries.image(template.image, fleet)
    payloads, clashes = entries.payloads(template.image, models or (), mounts, fleet)
    peers = template.environment.get(federation.VARIABLE) if _announces(template) else None
    service = {
        **_head(spot, seen, template, image),
        **said.shape(seen, template),
        **({} if template.account == spot.account() else {"account": account}),
        **said.platform(template),
        **said.probe(template),
        **said.env(template, drop=_generated(template, models, mounts)),
        **said.models(models or ()),
        **({"deliver": "mount"} if mounts.by_payload else {}),
        **_fetched(template, models or ()),
    }
    place = {} if spot.declared else {spot.target: entries.place(spot.place)}
    sections = {
        "targets": place, "images": images, "payloads": payloads, "services": {spot.key: service}
    }  # fmt: skip
    written = {name: escaped(found) for name, found in sections.items() if found}
    notes = (*_notes(template, models, mounts), *_of_peers(template, peers))
    return Draft(written, peers, notes, (*clashes, *mounts.problems))


def _fetched(template: Template, models: tuple[ModelEntry, ...]) -> dict[str, Any]:
    """How payloads get there, where the mesh fetches them."""
    if not any(entries.fetched_from(entry) for entry in models):
        return {}
    cache = template.environment.get(CACHE, "")
    return {"deliver": "fetch"} | ({"cache": int(cache)} if cache.isdecimal() else {})


def registry(template: Template) -> tuple[ModelEntry, ...] | None:
    """The models of a release when they are exactly as meshctl writes them; None otherwise."""
    text = template.environment.get(VARIABLE)
    if text is None:
        return ()
    try:
        found = parse_models(text)
    except SpecError:
        return None
    default = [entry.id for entry in found if entry.default] or [""]
    known = render_models(found) == text and found != ()
    alone = len(found) > 1 and default == [""]
    told = template.environment.get(DEFAULT_MODEL) == default[0]
    return found if known and told and not alone else None


def _generated(
    template: Template, models: tuple[ModelEntry, ...] | None, mounts: Mounted
) -> tuple[str, ...]:
    """Variables that are written from other keys, or from the journal."""
    own = (VARIABLE, DEFAULT_MODEL) if models else ()
    usual = mounts.by_payload and template.environment.get(MODELS_DIR) == DEFAULT_DIR
    cache = (CACHE,) if _fetched(template, models or ()) else ()
    return (*NOT_HASHED, federation.VARIABLE, *own, *((MODELS_DIR,) if usual else ()), *cache)


def _head(spot: Spot, seen: ServiceSeen, template: Template, image: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if _announces(template):
        found["role"] = "coordinator"
    if spot.key != seen.name:
        found["name"] = seen.name
    found |= {"target": spot.target, "image": image}
    found |= {"command": list(template.command)} if template.command else {}
    found |= {"args": list(template.args)} if template.args else {}
    found |= {"port": template.port} if template.port != 8080 else {}
    return found | {"access": "public" if seen.public else "private"}


def _announces(template: Template) -> bool:
    """Whether it is the coordinator of a mesh: only the mesh reads the announcement."""
    return "mesh" in template.args and federation.VARIABLE in template.environment


def _notes(
    template: Template, models: tuple[ModelEntry, ...] | None, mounts: Mounted
) -> tuple[str, ...]:
    found = []
    if models is None:
        found.append(f"{VARIABLE} is not as meshctl writes it: it stays a plain variable")
    if _fetched(template, models or ()):
        found.append("payloads: taken as they are fetched; the next deploy proves them")
    elif mounts.by_payload:
        found.append("payloads: taken as they are mounted; the next deploy proves every byte")
    elif models and any(entry.payload for entry in models):
        found.append("payloads: `source: image:` says that the files are known from the image only")
    if "mesh" in template.args and not _announces(template):
        found.append("it is a mesh: say `role: coordinator` or `role: peer` where it is one")
    found += [
        f"env.{secret.name} follows the latest version of {secret.secret}: a rollback would not "
        "bring the old value back; write the number of a version"
        for secret in template.secrets
        if secret.version == said.LATEST_VERSION
    ]
    open_ = sorted(name for name, value in template.env if _SUSPECT.search(name) and value)
    if open_:
        found.append(f"looks like a secret in plain text: env.{', env.'.join(open_)}")
    return tuple(found)


def _of_peers(template: Template, text: str | None) -> tuple[str, ...]:
    """The announced peers by name; the announcement itself is remembered as it was written."""
    if text is None:
        return ()
    found = read_announced(text)
    names = ", ".join(entry.id for entry in found.entries or ()) or "none"
    told = names if found.entries is not None else f"which cannot be read: {found.why}"
    return (f"{federation.VARIABLE} is kept in the journal, not in env: {told}",)


def still_differs(
    fleet: Fleet, spot: Spot, seen: ServiceSeen, main: Revision, peers: str | None
) -> tuple[Change, ...]:
    """What the next plan would change although nobody changed a key; empty when all is said.
    `peers` is the announcement as the journal will have it."""
    service = fleet.services[spot.key]
    place = fleet.targets[spot.target]
    image = image_reference(fleet.images[service.image], None)
    assert isinstance(place, CloudRunTarget) and image, "a draft names a region and a digest"
    wanted = wanted_release(fleet, service, place, image, peers or "").template
    inside = changes(main.template, wanted)
    request = Request(fleet=fleet, key=spot.key, target=spot.target, salt="")
    return (*inside, *around_changes(request, seen))
