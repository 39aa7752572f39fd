"""The rules of the keys that only podman hosts have, inside one service. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshctl.spec.model import Service
from meshctl.spec.near import near
from meshctl.spec.scalars import shown
from meshctl.spec.tree import Complaint

ULIMITS = (
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "rttime",
    "sigpending",
    "stack",
)
"""The limits of setrlimit(2) by the names that podman and systemd (as LimitNAME) give them."""
EXEC_HAS_NO = ("ports", "devices", "shm_size", "health")
"""What only a container has; a process of the host has the host's own."""
CDI = re.compile(r"[a-z0-9][a-z0-9.-]*/[A-Za-z0-9_.-]+=[A-Za-z0-9_.:-]+")
"""A device by its name in the Container Device Interface, such as nvidia.com/gpu=all."""
_PORT = re.compile(r"(?:[0-9.]+:)?([0-9]{1,5}):([0-9]{1,5})")
_PLAIN = re.compile(r"[^\s:\"'\\\x00-\x1f\x7f-\x9f]+")
_LIMIT = re.compile(r"(-1|[0-9]{1,19})(:(-1|[0-9]{1,19}))?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,199}")


def check_host(service: Service) -> Iterator[Complaint]:
    """Every rule broken; paths begin at the service."""
    yield from _ports(service)
    yield from _devices(service)
    yield from _mounts(service)
    yield from _ulimits(service)
    yield from _legacy(service)
    if service.runtime == "exec":
        yield from _exec(service)


def _ports(service: Service) -> Iterator[Complaint]:
    for index, port in enumerate(service.ports):
        match = _PORT.fullmatch(port)
        if not match or not all(1 <= int(number) <= 65535 for number in match.groups()):
            message = f"{shown(port)} is not HOST:CONTAINER with ports from 1 to 65535"
            yield Complaint(f"ports.{index}", message, 'for example "7773:8080"')


def _devices(service: Service) -> Iterator[Complaint]:
    for index, device in enumerate(service.devices):
        plain = device.startswith("/dev/") and re.fullmatch(r"[^\s\"'\\]+", device)
        if not plain and not CDI.fullmatch(device):
            message = f"{shown(device)} is not under /dev/, and no name of the kind VENDOR/CLASS=ID"
            yield Complaint(f"devices.{index}", message, "/dev/dri, or nvidia.com/gpu=all")


def _mounts(service: Service) -> Iterator[Complaint]:
    for path, value in service.mounts.items():
        if not path.startswith("/"):
            message = f"{shown(path)} is not an absolute path in the container"
            yield Complaint(f"mounts.{path}", message, "for example /models")
        if not value.startswith(("payload:", "/")):
            message = f"{shown(value)} is neither payload:NAME nor an absolute folder of the host"
            yield Complaint(f"mounts.{path}", message, "for example payload:small")
        for text in (path, value.removeprefix("payload:")):
            if not _PLAIN.fullmatch(text):
                message = f"{shown(text)} holds what podman cannot mount"
                yield Complaint(f"mounts.{path}", message, "no blanks, colons, quotes, backslashes")


def _ulimits(service: Service) -> Iterator[Complaint]:
    for name, value in service.ulimits.items():
        if name not in ULIMITS:
            message = f"no limit is named {shown(name)}"
            yield Complaint(f"ulimits.{name}", message, near(name, ULIMITS))
        if not _LIMIT.fullmatch(value):
            message = f"{shown(value)} is neither SOFT nor SOFT:HARD in whole numbers"
            yield Complaint(f"ulimits.{name}", message, 'for example "-1", or "65536:65536"')


def _legacy(service: Service) -> Iterator[Complaint]:
    for name in service.sweep.legacy:
        if not _NAME.fullmatch(name):
            message = f"{shown(name)} is no name of a unit or a container"
            yield Complaint("sweep.legacy", message, "letters, digits and . _ @ -")


def _exec(service: Service) -> Iterator[Complaint]:
    """systemd starts no relative path, and puts no variable into the path of a program."""
    if not service.command or not re.fullmatch(r"/[^\s\"'\\$%]+", service.command[0]):
        message = "runtime: exec starts a program of the host: its absolute path comes first"
        yield Complaint("command", message, "for example [/opt/llama/llama-server, -m, ...]")
    for key in EXEC_HAS_NO:
        if getattr(service, key):
            message = "is for containers, and `runtime: exec` starts none"
            yield Complaint(key, message, "leave it out, or runtime")
