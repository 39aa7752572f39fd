"""Who holds a port, and which containers and images there are. Pure."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field

from meshctl.spec.model import SHA256, Frozen
from meshctl.targets.podman.readings.sections import Section
from meshctl.targets.podman.readings.value import (
    Known,
    Unknown,
    count,
    objects,
    parsed,
    shown,
    word,
)

_LISTEN = re.compile(r"^LISTEN\s+\d+\s+\d+\s+(\S{1,80}):(\d{1,5})\s+\S+(.*)$")
_PROCESS = re.compile(r'\("([^"]{0,64})",pid=(\d{1,10}),fd=\d{1,10}\)')


class Listener(Frozen):
    """A listening TCP port. No `pid`: its holder is another user's, or the kernel's."""

    address: str
    port: int
    pid: int | None = None
    name: str = ""


class ContainerSeen(Frozen):
    """A container, running or not. `ports` are those of the host."""

    name: str
    id: str
    image: str
    image_id: str
    state: str
    pid: int | None = None
    ports: tuple[int, ...] = ()
    labels: dict[str, str] = Field(default={})


class ImageSeen(Frozen):
    """An image that is on the host; `digests` are of the form sha256:HEX. Only by `references`,
    NAME@DIGEST, can it be started: one whose name went to another is there and cannot be had."""

    id: str
    digests: tuple[str, ...]
    references: tuple[str, ...] = ()
    size_bytes: int | None


def listeners(section: Section) -> Known[tuple[Listener, ...]] | Unknown:
    """What `ss -H -ltnp` lists; one line that is not understood makes all of it unknown, for a
    port that looks free must be."""
    if section.rc != "0":
        return section.why_not("ss")
    found: list[Listener] = []
    for line in filter(str.strip, section.text.split("\n")):
        match = _LISTEN.match(line)
        if not match:
            return section._replace(text=line).why_not("ss")
        holders = _PROCESS.findall(match[3]) or [("", "")]
        found += [
            Listener(address=shown(match[1]), port=int(match[2]), pid=count(pid), name=shown(name))
            for name, pid in holders
        ]
    return Known[tuple[Listener, ...]](value=tuple(found), source="ss")


def containers(section: Section) -> Known[tuple[ContainerSeen, ...]] | Unknown:
    """What `podman ps -a --format json` lists; it prints `[]`, `null` or nothing for none."""
    found = _list(section)
    if found is None:
        return section.why_not("podman ps")
    seen = tuple(_container(one) for one in found)
    return Known[tuple[ContainerSeen, ...]](value=seen, source="podman ps")


def images(section: Section) -> Known[tuple[ImageSeen, ...]] | Unknown:
    found = _list(section)
    if found is None:
        return section.why_not("podman images")
    seen = tuple(_image(one) for one in found)
    return Known[tuple[ImageSeen, ...]](value=seen, source="podman images")


def _list(section: Section) -> list[dict[str, Any]] | None:
    if section.rc != "0":
        return None
    if section.text.strip() in ("", "null"):
        return []
    found = parsed(section.text)
    whole = isinstance(found, list) and all(isinstance(one, dict) for one in found)
    return objects(found) if whole else None


def _container(one: dict[str, Any]) -> ContainerSeen:
    names, labels = one.get("Names"), one.get("Labels")
    texts = (
        [shown(name) for name in names if isinstance(name, str)] if isinstance(names, list) else []
    )
    pairs = labels.items() if isinstance(labels, dict) else ()
    return ContainerSeen(
        name=texts[0] if texts else "", id=word(one, "Id"), image=word(one, "Image"),
        image_id=word(one, "ImageID"), state=word(one, "State"), pid=count(one.get("Pid")) or None,
        ports=_ports(one.get("Ports")),
        labels={shown(key): shown(value) for key, value in pairs if isinstance(value, str)},
    )  # fmt: skip


def _ports(found: object) -> tuple[int, ...]:
    ports: list[int] = []
    for one in objects(found):
        first, length = count(one.get("host_port")), count(one.get("range")) or 1
        if first and first + min(length, 65536) <= 65536:
            ports += range(first, first + length)
    return tuple(ports)


def _image(one: dict[str, Any]) -> ImageSeen:
    listed = one.get("RepoDigests")
    said = [one.get("Digest"), *(listed if isinstance(listed, list) else ())]
    ends = [text.rpartition("@")[2] for text in said if isinstance(text, str)]
    digests = [text for text in ends if re.match(SHA256, text.removeprefix("sha256:"))]
    return ImageSeen(
        id=word(one, "Id"),
        digests=tuple(dict.fromkeys(digests)),
        size_bytes=count(one.get("Size")),
        references=tuple(shown(text) for text in said[1:] if isinstance(text, str)),
    )
