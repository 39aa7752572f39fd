"""Real machines for the tests: booted when a test first asks for one, ended with the session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.lab.machine import Machine
from tests.lab.slots import numbers
from tests.lab.tree import kept, tree, unfit

Boot = Callable[[int], Machine]


@pytest.fixture(scope="session")
def booted() -> Iterator[Boot]:
    """The first, the second machine and so on; skipped with its reason where none can be booted."""
    if why := unfit():
        pytest.skip(why)
    with TemporaryDirectory(prefix="run-", dir=kept(), ignore_cleanup_errors=True) as folder:
        yield from _booting(Path(folder))


def _booting(folder: Path) -> Iterator[Boot]:
    """Not below pytest's own folders: it cannot remove what a killed session left mounted."""
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    known: dict[int, Machine] = {}

    with numbers(kept()) as ours:

        def boot(nth: int) -> Machine:
            if nth not in known:
                number = ours[nth - 1]
                home = folder / f"lab{number}"
                home.mkdir()
                known[nth] = Machine(number, tree(), home, key)
                known[nth].boot()
            return known[nth]

        try:
            yield boot
        finally:
            for machine in known.values():
                machine.end()


@pytest.fixture(scope="session")
def host(booted: Boot) -> Machine:
    """The machine that most tests are about."""
    return booted(1)


@pytest.fixture(scope="session")
def hosts(booted: Boot) -> tuple[Machine, ...]:
    """Three of them."""
    return tuple(booted(number) for number in (1, 2, 3))


def ssh_config(folder: Path, machines: tuple[Machine, ...]) -> Path:
    """An ssh configuration by which meshctl reaches them, with the keys that they have now."""
    known = folder / "known"
    known.write_text("".join((m.folder / "known").read_text() for m in machines))
    rows = [
        f"Host {m.name}\n  HostName {m.address}\n  User root\n  IdentityFile {m.key}\n"
        f"  UserKnownHostsFile {known}\n"
        for m in machines
    ]
    path = folder / "ssh.conf"
    path.write_text("".join(rows))
    return path
