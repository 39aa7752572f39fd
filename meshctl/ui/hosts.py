"""The JSON documents of `host`. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.targets.podman.reading import HostReading
from meshctl.ui.documents import Document

HostState = Literal["up", "unreachable", "refused", "unreadable"]


class HostEntry(Frozen):
    """One host of the fleet; `reading` is null where there is none, and `why` says the reason."""

    name: str
    address: str
    state: HostState
    reading: HostReading | None
    why: str
    hint: str = Field(description="the next command; empty where there is none")


class Hosts(Document):
    """`host list`: what the hosts of the fleet are, and have free."""

    kind: Literal["hosts/v1"] = "hosts/v1"
    hosts: tuple[HostEntry, ...]


class HostAnswer(Frozen):
    """What a command did on one host; `code` is null where nobody knows."""

    name: str
    code: int | None
    out: str
    err: str
    why: str
    hint: str


class HostExec(Document):
    """`host exec`: what one command did on each host."""

    kind: Literal["host-exec/v1"] = "host-exec/v1"
    command: tuple[str, ...]
    answers: tuple[HostAnswer, ...]
