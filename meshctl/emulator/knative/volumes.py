"""Volumes in the spelling of v1, and back: one pair of functions a kind (facts s5, s10). Pure."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from meshctl.emulator.failures import invalid

Json = dict[str, Any]
GCSFUSE = "gcsfuse.run.googleapis.com"
_MEDIA = {"MEMORY": "Memory", "MEDIUM_UNSPECIFIED": ""}


def to_v1(volumes: list[Json]) -> list[Json]:
    """Volumes as v1 shows them: a bucket is a CSI volume there, a version of a secret a key."""
    return [{"name": volume["name"], **_source_v1(volume)} for volume in volumes]


def _source_v1(volume: Json) -> Json:
    found: Json = {}
    for kind, source in volume.items():
        if kind != "name":
            found |= _V1[kind](source) if kind in _V1 else {kind: copy.deepcopy(source)}
    return found


def _bucket_v1(gcs: Json) -> Json:
    attributes = {"bucketName": gcs["bucket"]}
    if gcs.get("mountOptions"):
        attributes["mountOptions"] = ",".join(gcs["mountOptions"])
    csi = {"driver": GCSFUSE, "volumeAttributes": attributes}
    return {"csi": csi | ({"readOnly": True} if gcs.get("readOnly") else {})}


def _secret_v1(secret: Json) -> Json:
    return {"secret": _renamed(secret, {"secret": "secretName"}, {"version": "key"})}


def _empty_v1(empty: Json) -> Json:
    named = {"medium": _MEDIA[empty["medium"]]} if "medium" in empty else {}
    return {"emptyDir": empty | named}


_V1: Mapping[str, Callable[[Json], Json]] = {
    "gcs": _bucket_v1,
    "secret": _secret_v1,
    "emptyDir": _empty_v1,
}


def to_v2(volumes: list[Json], path: str) -> Iterator[Json]:
    """Volumes as v2 takes them; ApiError 400 for a driver or a medium that is not imitated."""
    for index, volume in enumerate(volumes):
        found: Json = {"name": volume.get("name", "")}
        for kind, source in volume.items():
            if kind != "name":
                here = f"{path}[{index}].{kind}"
                known = kind in _V2 and isinstance(source, dict)  # else its form is refused later
                found |= _V2[kind](source, here) if known else {kind: copy.deepcopy(source)}
        yield found


def _bucket_v2(csi: Json, path: str) -> Json:
    if csi.get("driver") != GCSFUSE:
        raise invalid(f"The driver {csi.get('driver')!r} is not imitated here.", f"{path}.driver")
    attributes = csi.get("volumeAttributes", {})
    gcs: Json = {"bucket": attributes.get("bucketName", "")}
    if csi.get("readOnly"):
        gcs["readOnly"] = True
    if attributes.get("mountOptions"):
        gcs["mountOptions"] = attributes["mountOptions"].split(",")
    return {"gcs": gcs}


def _secret_v2(secret: Json, path: str) -> Json:
    return {"secret": _renamed(secret, {"secretName": "secret"}, {"key": "version"})}


def _empty_v2(empty: Json, path: str) -> Json:
    media = {text: name for name, text in _MEDIA.items()}
    if empty.get("medium", "") not in media:
        medium = f"{path}.medium"
        raise invalid(f"The medium {empty['medium']!r} is not imitated here.", medium)
    named = {"medium": media[empty["medium"]]} if empty.get("medium") else {}
    return {"emptyDir": {key: empty[key] for key in empty if key != "medium"} | named}


_V2: Mapping[str, Callable[[Json, str], Json]] = {
    "csi": _bucket_v2,
    "secret": _secret_v2,
    "emptyDir": _empty_v2,
}


def _renamed(secret: Json, own: Mapping[str, str], of_items: Mapping[str, str]) -> Json:
    """A volume of a secret with the other names of its fields, and of those of its items."""
    found = {own.get(key, key): copy.deepcopy(value) for key, value in secret.items()}
    if isinstance(found.get("items"), list):
        found["items"] = [
            {of_items.get(key, key): value for key, value in item.items()}
            if isinstance(item, dict)
            else item
            for item in found["items"]
        ]
    return found
