"""The disk of a machine: the shared tree under what is its own, kept over its reboots."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from pathlib import Path


def furnish(folder: Path, tree: Path, name: str, key: Path) -> None:
    """`folder/root`, an overlay whose upper side lies in memory. What podman keeps is bound from
    `folder/disk/containers`, for its own overlays cannot lie on one."""
    disk, root = folder / "disk", folder / "root"
    for each in (disk, root):
        each.mkdir(parents=True, exist_ok=True)
    must("mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", str(disk))
    for part in ("upper", "work", "containers"):
        (disk / part).mkdir()
    options = f"lowerdir={tree},upperdir={disk}/upper,workdir={disk}/work"
    must("mount", "-t", "overlay", "overlay", "-o", options, str(root))
    _configure(root / "etc", name)
    _identify(root, name)
    ssh = root / "root/.ssh"
    ssh.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(f"{key}.pub", ssh / "authorized_keys")


def must(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)


def _configure(etc: Path, name: str) -> None:
    """There is no pids controller here, and podman asks for one unless told; no resolver either,
    and whoever looks up a name is to fail soon."""
    (etc / "containers").mkdir(exist_ok=True)
    (etc / "containers/containers.conf").write_text("[containers]\npids_limit = 0\n")
    (etc / "resolv.conf").unlink(missing_ok=True)
    (etc / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    (etc / "hosts").write_text(f"127.0.0.1 localhost {name}\n")


def _identify(root: Path, name: str) -> None:
    """Keys and ids of the tree are those of every machine: sshd's let no swap of machines be seen,
    and dbus's became the machine id of all, however empty /etc/machine-id was."""
    (root / "etc/hostname").write_text(f"{name}\n")
    for own in ("etc/machine-id", "var/lib/dbus/machine-id"):
        (root / own).unlink(missing_ok=True)
    (root / "etc/machine-id").write_text(f"{uuid.uuid4().hex}\n")
    for inherited in (root / "etc/ssh").glob("ssh_host_*"):
        inherited.unlink()
    key = root / "etc/ssh/ssh_host_ed25519_key"
    must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key))
