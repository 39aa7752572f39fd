"""The Debian 13 tree that all machines of the lab boot from, made once and kept between runs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SUITE = "trixie"
PACKAGES = (
    "systemd,systemd-sysv,dbus,openssh-server,podman,crun,netavark,aardvark-dns,nftables,iproute2,"
    "curl,python3,ca-certificates"
)
NEEDED = {
    "debootstrap": "debootstrap",
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "mount": "mount",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "apt-get": "a Debian",
}
"""Programs, and the package of each."""


def unfit() -> str:
    """Why no machine can be booted here, or ""."""
    if os.getuid() != 0:
        return "booting machines takes root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        packages = sorted({NEEDED[name] for name in missing})
        return f"not installed: {', '.join(missing)} (of {', '.join(packages)})"
    return _no_spaces() or _no_mounts()


def _no_spaces() -> str:
    """A container often may neither make a network namespace nor mount."""
    name = f"labprobe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return "" if made.returncode == 0 else f"no network namespaces here: {made.stderr.strip()}"


def _no_mounts() -> str:
    with tempfile.TemporaryDirectory() as folder:
        probe = f"lowerdir=/usr,upperdir={folder}/upper,workdir={folder}/work"
        mounted = f"mount -t tmpfs tmpfs {folder} && mkdir {folder}/upper {folder}/work {folder}/at"
        overlaid = f"mount -t overlay overlay -o {probe} {folder}/at"
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", f"{mounted}; {overlaid}"],
            capture_output=True, text=True,
        )  # fmt: skip
    return "" if done.returncode == 0 else f"no overlay mounts here: {done.stderr.strip()}"


def kept() -> Path:
    """The folder of what is made once for many runs."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "meshctl-lab"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def tree() -> Path:
    """The folder of the tree; the first time it takes some two minutes and 0.5 GB. It appears
    whole or not at all, and who comes while it is made waits."""
    recipe = hashlib.sha256(f"{SUITE} {PACKAGES}".encode()).hexdigest()[:12]
    made = kept() / f"tree-{recipe}"
    with (kept() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_dir():
            draft = kept() / "draft"
            shutil.rmtree(draft, ignore_errors=True)
            _bootstrap(draft)
            draft.rename(made)
    return made


def _bootstrap(draft: Path) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(draft)]
    done = subprocess.run([*command, _mirror()], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"debootstrap failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    shutil.rmtree(draft / "var/cache/apt/archives", ignore_errors=True)


def _mirror() -> str:
    """Where apt of this machine takes Debian from."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Identifier: Packages"]
    said = subprocess.run([*command, "Label: Debian"], capture_output=True, text=True, check=True)
    return said.stdout.split()[0]
