"""The unit of a host as a release: what of its text is hashed, and what it says. Pure.

A release on a host is the text of its unit. It is compared and hashed as systemd reads it, so that
comments and line ends rename nothing, and without the marks that meshctl adds after hashing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from meshctl.plan.release import EnvSecret, StartupProbe, Template
from meshctl.plan.unit_text import Entry, read, words, write

OURS = "X-Meshctl"
"""A section that systemd passes over, as everything that begins with X-; systemd.unit(5)."""
RELEASE = "MESH_RELEASE"
"""By this variable the mesh says which release it is."""
_MARK = "meshctl-release"
_SECRET = re.compile(r"meshctl-(?P<secret>.+)-(?P<version>[0-9]+|latest),type=env,target=(?P<n>.+)")
PATIENCE_S = 600
"""TimeoutStartSec where a unit names none."""


def unit_template(text: str) -> Template:
    """The template of a unit's text, whoever wrote it: equal for two texts that systemd takes for
    the same, but for marks."""
    entries = [entry for entry in read(text) if not _is_mark(entry)]
    section = "Container" if any(e.section == "Container" for e in entries) else "Service"
    said = _Said(entries, section)
    return Template(
        image=said.last("Image"),
        command=said.command,
        args=said.args,
        env=said.env(read(text)),
        secrets=said.secrets,
        port=0,
        cpu="",
        memory_bytes=0,
        gpu=None,
        zonal_redundancy=False,
        concurrency=0,
        timeout_s=0,
        max_instances=1,
        min_instances=0,
        account=None,
        probe=said.probe,
        gen2=None,
        unit=write(entries),
    )


def marked(unit: str, release: str) -> str:
    """The text that is written: the unit, and which release it is. Whoever reads it believes the
    text and not the mark."""
    entries = read(unit)
    container = any(entry.section == "Container" for entry in entries)
    section = "Container" if container else "Service"
    marks = (Entry(section, "Environment", f"{RELEASE}={release}"), Entry(OURS, _MARK, release))
    return write([*entries, *marks])


def is_quadlet(unit: str) -> bool:
    """Whether podman's generator makes a unit of it; otherwise it is one already."""
    return any(entry.section == "Container" for entry in read(unit))


def listens(unit: str) -> tuple[str, ...]:
    """Where it can be asked, as IP:PORT of the host, in the order of the fleet file."""
    return tuple(e.value for e in read(unit) if (e.section, e.key) == (OURS, "listens"))


def secrets_needed(unit: str) -> tuple[str, ...]:
    """The podman secrets without which it does not start."""
    named = (e.value.partition(",")[0] for e in read(unit) if e.key == "Secret")
    return tuple(sorted(set(named)))


def files_needed(unit: str) -> tuple[str, ...]:
    """The files of variables without which it does not start."""
    files = (e.value for e in read(unit) if e.key == "EnvironmentFile")
    return tuple(sorted({file for file in files if not file.startswith("-")}))


def folders_needed(unit: str) -> tuple[str, ...]:
    """What of the host it mounts."""
    mounts = (e.value.partition(":")[0] for e in read(unit) if e.key == "Volume")
    return tuple(sorted({path for path in mounts if path.startswith("/")}))


def _is_mark(entry: Entry) -> bool:
    return (entry.section, entry.key) == (OURS, _MARK) or (
        entry.key == "Environment" and entry.value.startswith(f"{RELEASE}=r")
    )


class _Said:
    """What the entries of one section say; of keys that are said once the last one holds."""

    def __init__(self, entries: Iterable[Entry], section: str) -> None:
        self._entries = list(entries)
        self._section = section
        self._container = section == "Container"

    def last(self, key: str, section: str = "") -> str:
        wanted = (section or self._section, key)
        found = [e.value for e in self._entries if (e.section, e.key) == wanted]
        return found[-1] if found else ""

    @property
    def command(self) -> tuple[str, ...]:
        """Of a plain unit everything is the command, for nothing tells where its args begin."""
        if not self._container:
            return self._words(self.last("ExecStart"))
        text = self.last("Entrypoint")
        try:
            found = json.loads(_single(text)) if text.startswith("[") else [text] if text else []
        except (ValueError, RecursionError):
            found = [text]
        return tuple(str(word) for word in found)

    @property
    def args(self) -> tuple[str, ...]:
        return self._words(self.last("Exec")) if self._container else ()

    def env(self, entries: Iterable[Entry]) -> tuple[tuple[str, str], ...]:
        """The variables, the mark among them: by it a release says which one it is."""
        found: dict[str, str] = {}
        for entry in entries:
            if (entry.section, entry.key) != (self._section, "Environment"):
                continue
            for word in words(entry.value):
                name, _, value = word.partition("=")
                value = value.replace("%%", "%")
                found[name] = value.replace("$$", "$") if self._container else value
        return tuple(sorted(found.items()))

    @property
    def secrets(self) -> tuple[EnvSecret, ...]:
        named = (_SECRET.fullmatch(e.value) for e in self._entries if e.key == "Secret")
        return tuple(EnvSecret(name=m["n"], secret=m["secret"], version=m["version"])
                     for m in named if m)  # fmt: skip

    @property
    def probe(self) -> StartupProbe:
        """What is asked until it answers, for as long as its start may take."""
        longest = self.last("TimeoutStartSec", "Service").removesuffix("s")
        tries = int(longest) if re.fullmatch(r"[0-9]{1,6}", longest) else PATIENCE_S
        path = self.last("ready", OURS) or None
        return StartupProbe(path=path, period_s=1, timeout_s=5, failures=max(1, tries))

    def _words(self, value: str) -> tuple[str, ...]:
        return tuple(_single(word) for word in words(value))


def _single(text: str) -> str:
    """Signs that were doubled for systemd, once again."""
    return text.replace("%%", "%").replace("$$", "$")
