"""Everything one command works with, built once from the settings and handed down as a value."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshctl.cli.settings import Settings
from meshctl.errors import MeshctlError, SpecError, UsageError
from meshctl.outside.clock import Clock, SystemClock
from meshctl.outside.environment import environment
from meshctl.outside.gcp import Calls, Cloud, bypass_proxies_on_loopback
from meshctl.outside.http import Http, RealHttp
from meshctl.outside.objects import DirStore, ObjectStore
from meshctl.outside.objects_drill import DrillStore
from meshctl.outside.objects_memo import MemoStore
from meshctl.outside.objects_place import BucketPlace, open_bucket, place_of
from meshctl.outside.shell import LocalShell, Shell
from meshctl.outside.who import Who, myself
from meshctl.ui.output import Output

if TYPE_CHECKING:
    from meshctl.cli.embedded import Embedded
    from meshctl.outside.ssh import Hosts
    from meshctl.plan.source import SourceSeen
    from meshctl.spec.model import CloudRunTarget, Fleet
    from meshctl.state.builds import Latest

DEFAULT_FILE = "meshctl.yaml"
LOCAL = ".meshctl"
"""The folder beside the fleet file for the state and the embedded cloud."""


@dataclass(frozen=True)
class World:
    """The outside, the operator's wishes and the way to talk to them, for one command."""

    settings: Settings
    environ: Mapping[str, str]
    clock: Clock
    http: Http
    shell: Shell
    who: Who
    output: Output
    calls: Calls
    opened: dict[Path | BucketPlace, ObjectStore] = field(default_factory=dict)
    built: dict[str, Latest] = field(default_factory=dict)
    """The newest builds by image, as far as they were asked for: once a command."""
    sources: dict[str, SourceSeen] = field(default_factory=dict)
    """What became of their files since, likewise."""

    @property
    def file(self) -> Path:
        """The fleet file that was asked for, whether it is there or not."""
        return Path(self.settings.fleet or DEFAULT_FILE)

    @property
    def folder(self) -> Path:
        """Where relative paths start. Raises UsageError when the file that was named is missing."""
        self._refuse_mistyped()
        return self.file.parent

    @property
    def embedded_data(self) -> Path:
        """The folder of the embedded cloud beside the fleet file, there or not."""
        return (self.file.parent / LOCAL / "emulator").absolute()

    def embedded(self) -> Embedded:
        """The embedded cloud beside the fleet file. Raises UsageError where there is none yet and
        the file that was named is missing: nothing is begun in a folder that was mistyped."""
        from meshctl.cli.embedded import Embedded

        if not self.embedded_data.is_dir():
            self._refuse_mistyped()
        return Embedded(self.embedded_data, self.clock, self.http, self.environ)

    @cached_property
    def hosts(self) -> Hosts:
        """The connections to hosts: made when they are needed, shared, and kept to the end.
        MESHCTL_SSH_CONFIG names the ssh configuration to go by, instead of the user's own."""
        from meshctl.outside.ssh import Hosts, keep

        config = self.environ.get("MESHCTL_SSH_CONFIG")
        return keep(Hosts({"config": [config]} if config else None))

    def fleet(self) -> Fleet:
        """The validated fleet. Raises UsageError or SpecError."""
        return self._fleet

    def store(self, *, broken_file_ok: bool = False) -> ObjectStore:
        """Where journals and locks are. With `broken_file_ok` a fleet file that is wrong or
        missing is only asked for its `state:` line: rollback must work without a valid one. Raises
        Refused for a state that an earlier meshctl wrote."""
        place = self.state_place(broken_file_ok=broken_file_ok)
        if place not in self.opened:
            self.opened[place] = self._open(place)
        drill = self.environ.get("MESHCTL_DRILL")
        return DrillStore(self.opened[place], drill) if drill else self.opened[place]

    def state_place(self, *, broken_file_ok: bool = False) -> Path | BucketPlace:
        """The folder or bucket of the store, there or not; raises like `store`."""
        if self.settings.state:
            return place_of(self.settings.state)
        declared = place_of(self._declared_state(broken_file_ok) or f"{LOCAL}/state")
        return self.file.parent / declared if isinstance(declared, Path) else declared

    def state_folder(self) -> Path | None:
        """The folder of the store; None where it is in a bucket."""
        place = self.state_place()
        return place if isinstance(place, Path) else None

    def _open(self, place: Path | BucketPlace) -> ObjectStore:
        if isinstance(place, BucketPlace):
            return MemoStore(open_bucket(place, self.environ, self.clock, self.calls))
        from meshctl.state.layout import refuse_old

        store = DirStore(place)
        refuse_old(store, str(place))
        return store

    def cloud(self, target: str) -> Cloud:
        """Where a Cloud Run target is; the embedded cloud is started when the fleet says so.

        Raises UsageError for a target that is not there or is no Cloud Run target.
        """
        from meshctl.spec.near import near

        targets = self.fleet().targets
        if target not in targets:
            raise UsageError(f"no target named {target!r}", hint=near(target, targets))
        found = targets[target]
        if found.kind != "cloudrun":
            raise UsageError(f"{target} is no Cloud Run target", hint="name another target")
        return self.cloud_of(found)

    def cloud_of(self, target: CloudRunTarget) -> Cloud:
        """The same for a target that is known already, such as one from a journal."""
        if target.emulator is True:
            endpoint: str | None = self._embedded_url
        else:
            endpoint = target.emulator or None
        return Cloud(target.project, target.region, endpoint)

    @cached_property
    def _fleet(self) -> Fleet:
        from meshctl.spec.load import load

        return load(self._text(), str(self.file), self.environ)

    @cached_property
    def _embedded_url(self) -> str:
        embedded, new = self.embedded(), not self.embedded_data.is_dir()
        self.output.progress("starting the embedded cloud")
        url = embedded.start().url
        if new and self.output.stderr.isatty():
            self.output.say(f"a new embedded cloud, still empty, was started: {url}")
        return url

    def _refuse_mistyped(self) -> None:
        if self.settings.fleet and not self.file.exists():
            raise _missing(self.file)

    def _text(self) -> str:
        try:
            return self.file.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise _missing(self.file) from error
        except UnicodeDecodeError as error:
            raise UsageError(
                "the fleet file is not UTF-8 text", place=str(self.file), hint="save it as UTF-8"
            ) from error
        except OSError as error:
            raise UsageError(
                f"the fleet file cannot be read: {error.strerror}",
                place=str(self.file),
                hint="name another one with -f",
            ) from error

    def _declared_state(self, broken_file_ok: bool) -> str | None:
        try:
            return self.fleet().state
        except (SpecError, UsageError):
            if not broken_file_ok:
                raise
        line = re.search(r"""^state:\s*["']?([^"'#\s]+)""", self._any_text(), re.MULTILINE)
        return line[1] if line else None

    def _any_text(self) -> str:
        """Whatever the fleet file still says; nothing where it cannot be read at all."""
        try:
            return self.file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def open_world(settings: Settings) -> World:
    """The real world. Nothing is read or opened before it is asked for."""
    bypass_proxies_on_loopback()
    output = output_of(settings)
    return World(
        settings=settings,
        environ=environment(),
        clock=SystemClock(),
        http=RealHttp(),
        shell=LocalShell(),
        who=myself(),
        output=output,
        calls=Calls(note=output.detail),
    )


def output_of(settings: Settings) -> Output:
    """The operator's terminal, or the pipes in its place."""
    return Output(
        format=settings.output,
        yes=settings.yes,
        quiet=settings.quiet,
        verbose=settings.verbose,
        colour=not settings.no_color,
        stdin=sys.stdin,
        stdout=sys.stdout,
        stderr=sys.stderr,
    )


def world_of(context: Any) -> World:
    """The world of a typer command; its `ctx.obj` holds the settings."""
    settings = context.obj
    assert isinstance(settings, Settings)
    return open_world(settings)


def _missing(file: Path) -> UsageError:
    return UsageError(
        "there is no fleet file",
        place=str(file),
        hint=f"is it in another folder? `cd` there, or name it with -f FILE; to begin, -f "
        f"{_start()} runs on this machine as it is; `meshctl config example` lists every key",
    )


def _start() -> str:
    """A fleet that runs on this machine as it is."""
    from meshctl.cli.share import share_dir

    with contextlib.suppress(MeshctlError):
        return str(share_dir("configs") / "local.yaml")
    return "configs/local.yaml of a checkout"
