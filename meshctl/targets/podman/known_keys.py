"""Since which podman its quadlets know which key of [Container], as data. Pure.

A key that is too new makes the generator drop the whole unit: `systemctl start` then only says
that there is no such unit. Sources: the table by which podlet lowers quadlets to older versions
(src/quadlet/container.rs, 4.4 to 5.2), the keys that 4.4.0 came with (podman's release notes and
its manual podman-systemd.unit(5)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshctl.plan.unit_text import Entry, read
from meshctl.spec.model import Frozen

Version = tuple[int, int]

_TABLE = {
    (4, 4): (
        "AddCapability AddDevice Annotation ContainerName DropCapability Environment "
        "EnvironmentFile EnvironmentHost Exec ExposeHostPort Group Image Label Network "
        "NoNewPrivileges Notify PodmanArgs PublishPort ReadOnly RunInit SeccompProfile "
        "SecurityLabelDisable SecurityLabelFileType SecurityLabelLevel SecurityLabelType Timezone "
        "User Volume"
    ),
    (4, 5): (
        "HealthCmd HealthInterval HealthOnFailure HealthRetries HealthStartPeriod "
        "HealthStartupCmd HealthStartupInterval HealthStartupRetries HealthStartupSuccess "
        "HealthStartupTimeout HealthTimeout IP IP6 LogDriver Mount Rootfs Secret Tmpfs UserNS"
    ),
    (4, 6): "AutoUpdate HostName Mask Pull SecurityLabelNested Sysctl Unmask WorkingDir",
    (4, 7): "DNS DNSOption DNSSearch PidsLimit ShmSize Ulimit",
    (4, 8): "GIDMap ReadOnlyTmpfs SubGIDMap SubUIDMap UIDMap",
    (5, 0): "Entrypoint Pod StopTimeout",
    (5, 1): "GroupAdd",
    (5, 2): "LogOpt NetworkAlias StopSignal",
}
SINCE: dict[str, Version] = {
    key: version for version, keys in _TABLE.items() for key in keys.split()
}
VALUES: dict[tuple[str, str], Version] = {("Notify", "healthy"): (5, 0)}
"""Values that came later than their key."""
FIRST: Version = (4, 4)
"""The first podman with quadlets at all."""


class TooNew(Frozen):
    """A key, or a value of one, that this podman does not know; `since` is empty where nobody
    told us since when it is known."""

    key: str
    since: str


def too_new(text: str, podman: str) -> tuple[TooNew, ...]:
    """What of a quadlet this podman, such as `4.9.4-rhel`, does not know, in the order of the
    file. A version that cannot be read knows nothing: nothing is written on a guess."""
    version = _version(podman)
    return tuple(dict.fromkeys(_found(text, version)))


def _found(text: str, version: Version) -> Iterator[TooNew]:
    for entry in read(text):
        if entry.section == "Container":
            since = _since(entry)
            if since is None or version < since:
                yield TooNew(key=_name(entry), since=_text(since))


def _since(entry: Entry) -> Version | None:
    return VALUES.get((entry.key, entry.value)) or SINCE.get(entry.key)


def _name(entry: Entry) -> str:
    late = (entry.key, entry.value) in VALUES
    return f"{entry.key}={entry.value}" if late else entry.key


def _text(version: Version | None) -> str:
    return f"{version[0]}.{version[1]}" if version else ""


def _version(text: str) -> Version:
    match = re.match(r"(\d{1,4})\.(\d{1,4})", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)
