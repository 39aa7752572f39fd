"""The Debian 13 tree that all machines of the lab boot from, made once and kept between runs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

SUITE = "trixie"
PACKAGES = (
    "systemd,systemd-sysv,dbus,openssh-server,podman,crun,netavark,aardvark-dns,nftables,iproute2,"
    "curl,python3,ca-certificates"
)
NEEDED = ("debootstrap", "systemd-nspawn", "ip", "mount", "ssh-keygen")


def unfit() -> str:
    """Why no machine can be booted here, or ""."""
    if os.getuid() != 0:
        return "booting machines takes root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return (
            f"not installed: {', '.join(missing)} (Debian: debootstrap systemd-container iproute2)"
        )
    return _no_spaces()


def _no_spaces() -> str:
    """A container often may neither make a network namespace nor mount."""
    name = f"labprobe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return "" if made.returncode == 0 else f"no network namespaces here: {made.stderr.strip()}"


def tree() -> Path:
    """The folder of the tree; the first time it takes some two minutes and 0.5 GB. It appears
    whole or not at all, and who comes while it is made waits."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "meshctl-lab"
    kept.mkdir(parents=True, exist_ok=True)
    recipe = hashlib.sha256(f"{SUITE} {PACKAGES}".encode()).hexdigest()[:12]
    made = kept / f"tree-{recipe}"
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_dir():
            draft = kept / "draft"
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
