"""The answer to `look`, read into what a host is, has and runs. Pure."""

from __future__ import annotations

import re

from pydantic import Field

from meshctl.spec.model import Frozen
from meshctl.targets.podman.readings import amd, nvidia
from meshctl.targets.podman.readings.gpu import CardSeen, Pool, agreed, pool
from meshctl.targets.podman.readings.holders import (
    ContainerSeen,
    ImageSeen,
    Listener,
    containers,
    images,
    listeners,
)
from meshctl.targets.podman.readings.nvidia import AppSeen
from meshctl.targets.podman.readings.sections import Section, Sections
from meshctl.targets.podman.readings.unit import UnitSeen, units
from meshctl.targets.podman.readings.value import Known, Unknown, shown, unknown

_CDI_KIND = re.compile(r"^\"?kind\"?: *\"?([\w.-]{1,60}/[\w.-]{1,60})$", re.MULTILINE)
_CDI_DRIVER = re.compile(r"^libcuda\.so\.(\d{1,4}\.[\d.]{1,20})$", re.MULTILINE)


class FileSeen(Frozen):
    """A payload's file; `size_bytes` null: it is not there."""

    path: str
    size_bytes: int | None
    modified_s: int | None = Field(default=None, description="seconds since 1970, the host's clock")


class HostSeen(Frozen):
    """One host at one moment. `whole` false: the answer was cut, and what is missing is unknown."""

    whole: bool
    os: Known[str] | Unknown
    kernel: Known[str] | Unknown
    boot_id: Known[str] | Unknown
    uptime_s: Known[float] | Unknown
    now_s: Known[int] | Unknown
    user: Known[str] | Unknown
    cgroup: Known[int] | Unknown = Field(description="version of control groups, 1 or 2")
    memory: Known[Pool] | Unknown = Field(description="free is what a new process can have")
    disks: dict[str, Known[Pool] | Unknown] = Field(description="by folder; `/` is always there")
    files: dict[str, FileSeen]
    podman: Known[str] | Unknown
    systemd: Known[int] | Unknown
    store: Known[str] | Unknown = Field(description="where podman keeps images")
    linger: Known[bool] | Unknown
    units: Known[tuple[UnitSeen, ...]] | Unknown
    containers: Known[tuple[ContainerSeen, ...]] | Unknown
    images: Known[tuple[ImageSeen, ...]] | Unknown
    listeners: Known[tuple[Listener, ...]] | Unknown
    cards: Known[tuple[CardSeen, ...]] | Unknown
    apps: tuple[AppSeen, ...] = Field(description="what holds memory of NVIDIA's cards")
    cdi: tuple[str, ...] = Field(description="kinds such as nvidia.com/gpu")
    cdi_drivers: tuple[str, ...] = Field(description="of NVIDIA, that CDI passes in")
    driver: Known[str] | Unknown = Field(description="of NVIDIA, that the kernel has loaded")
    devices: tuple[str, ...] = Field(description="device files of cards")

    def pids_of(self, *names: str) -> frozenset[int]:
        """The processes of these units: what of the host is ours."""
        if isinstance(self.units, Unknown):
            return frozenset()
        return frozenset(
            pid for unit in self.units.value if unit.name in names for pid in unit.pids
        )


def parse(text: str, token: str) -> HostSeen:
    """Any text is a reading; what is not in it, or contradicts itself, is unknown."""
    said = Sections(text, token)
    return HostSeen(
        whole=said.whole,
        os=_matched(said["os"], r'(?m)^PRETTY_NAME="?([^"\n]{1,100})'),
        kernel=_matched(said["kernel"], r"\A([\w.+~-]{1,100})\Z"),
        boot_id=_matched(said["boot"], r"\A([0-9a-f-]{36})\Z"),
        uptime_s=_real(_matched(said["uptime"], r"\A(\d{1,12}(?:\.\d{1,6})?) ")),
        now_s=_whole(_matched(said["now"], r"\A(\d{1,12})\Z")),
        user=_matched(said["who"], r"\A([\w.-]{1,64}\$?)\Z"),
        cgroup=_cgroup(said["cgroup"]),
        memory=memory(said["memory"]),
        disks=_disks(said["disks"]),
        files=_files(said["files"]),
        podman=_matched(said["podman"], r"(?m)^podman version (\d[\w.+~-]{0,40})$"),
        systemd=_whole(_matched(said["systemd"], r"\Asystemd (\d{1,4})\b")),
        store=_matched(said["store"], r"\A(/[^\n]{0,500})\Z"),
        linger=_linger(said["linger"]),
        units=units(said, token),
        containers=containers(said["containers"]),
        images=images(said["images"]),
        listeners=listeners(said["ports"]),
        cards=cards(said),
        apps=nvidia.apps(said["apps"].text),
        cdi=tuple(dict.fromkeys(_CDI_KIND.findall(said["cdi"].text))),
        cdi_drivers=tuple(_CDI_DRIVER.findall(said["cdi"].text)),
        driver=_matched(said["module"], r"\A(\d[\d.]{1,30})\Z"),
        devices=tuple(re.findall(r"^(/dev/[\w/.-]{1,60})$", said["devices"].text, re.MULTILINE)),
    )


def memory(section: Section) -> Known[Pool] | Unknown:
    """MemAvailable is what a new process gets without swapping; proc(5). Tabs may stand for blanks:
    read by blanks alone, a host with 240 GiB free was once said to have none."""
    said = dict(re.findall(r"^(\w+):\s*(\d{1,15}) kB\s*$", section.text, re.MULTILINE))
    total, free = said.get("MemTotal"), said.get("MemAvailable")
    if total is None or free is None:
        return section.why_not("/proc/meminfo")
    raw = f"MemTotal: {total} kB, MemAvailable: {free} kB"
    if int(free) > int(total) or int(free) == 0:
        return unknown("/proc/meminfo contradicts itself", raw)
    return pool(int(total) * 1024, (int(total) - int(free)) * 1024, "/proc/meminfo", raw)


def cards(said: Sections) -> Known[tuple[CardSeen, ...]] | Unknown:
    """The cards of both vendors. Unknown where a tool hangs or fails and nothing else speaks: a
    wedged driver is not a host without cards."""
    nvidias = nvidia.cards(said["nvidia"].text, said["mig"].text)
    amds = agreed(
        amd.drm(said["drm"].text), amd.rocm(said["rocm"].text), amd.amdsmi(said["amdsmi"].text)
    )
    none = said["nvidia"].rc == "127" or "No devices were found" in said["nvidia"].text
    if not nvidias and not none:
        return said["nvidia"].why_not("nvidia-smi")
    if said["drm"].rc != "0" and not amds:
        return said["drm"].why_not("/sys/class/drm")
    return Known[tuple[CardSeen, ...]](value=(*nvidias, *amds))


def _matched(section: Section, form: str) -> Known[str] | Unknown:
    match = re.search(form, section.text.strip())
    if section.rc != "0" or not match:
        return section.why_not(section.name)
    return Known[str](value=shown(match[1]), source=section.name)


def _whole(reading: Known[str] | Unknown) -> Known[int] | Unknown:
    if isinstance(reading, Unknown):
        return reading
    return Known[int](value=int(reading.value), source=reading.source)


def _real(reading: Known[str] | Unknown) -> Known[float] | Unknown:
    if isinstance(reading, Unknown):
        return reading
    return Known[float](value=float(reading.value), source=reading.source)


def _cgroup(section: Section) -> Known[int] | Unknown:
    version = {"cgroup2fs": 2, "tmpfs": 1}.get(section.text.strip())
    return Known[int](value=version) if version else section.why_not("stat /sys/fs/cgroup")


def _linger(section: Section) -> Known[bool] | Unknown:
    """loginctl knows no user that is not logged in and does not linger."""
    said = {"yes": True, "no": False}.get(section.text.strip())
    return Known[bool](value=said) if said is not None else section.why_not("loginctl")


def _disks(section: Section) -> dict[str, Known[Pool] | Unknown]:
    """`for FOLDER`, then the last line of `df -P -k`."""
    found: dict[str, Known[Pool] | Unknown] = {"/": section.why_not("df")}
    folder = ""
    for line in section.text.split("\n"):
        if line.startswith("for /"):
            folder = shown(line.removeprefix("for "), 1000)
            found[folder] = section.why_not("df")
        elif folder:
            found[folder] = _disk(line)
    return found


def _disk(line: str) -> Known[Pool] | Unknown:
    """Used here is what a new file cannot have: the blocks kept for root are not free."""
    match = re.search(r" (\d{1,14}) +(\d{1,14}) +(\d{1,14}) +\d{1,3}% /", line)
    if not match:
        return unknown("what df said is not understood", line)
    total, used, free = (int(number) * 1024 for number in match.groups())
    if used + free > total:
        return unknown("df contradicts itself", line)
    return pool(total, total - free, "df", line)


def _files(section: Section) -> dict[str, FileSeen]:
    """Lines `SIZE SECONDS PATH`, or `absent - PATH`."""
    found = re.findall(
        r"^(absent|\d{1,18}) (-|\d{1,12}) (/[^\n]{0,1000})$", section.text, re.MULTILINE
    )
    return {
        path: FileSeen(
            path=path,
            size_bytes=None if size == "absent" else int(size),
            modified_s=None if at == "-" else int(at),
        )
        for size, at, path in ((size, at, shown(path, 1000)) for size, at, path in found)
    }
