"""One real machine: systemd, podman and sshd in a namespace of its own, on a disk that it keeps.

systemd-nspawn boots the shared tree under an overlay, and boots it again whenever it ended: after a
reboot from inside, and after a power cut, which is SIGKILL. The link is a pair of virtual cards and
can be cut.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from meshctl.outside.shell import Result

PATIENCE_S = 120.0
_NSPAWN = (
    "--boot",
    "--register=no",
    "--keep-unit",
    "--console=pipe",
    "--capability=all",
    "--system-call-filter=add_key keyctl bpf",
)
_CLEAN = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C")
_SPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")


class Machine:
    """Booted by `boot`, ended by `end`; `folder` is its own."""

    def __init__(self, number: int, tree: Path, folder: Path, key: Path) -> None:
        self.name = f"lab{number}"
        self.address = f"198.18.{number}.2"
        self.folder, self.key, self._tree = folder, key, tree
        self._gate = f"198.18.{number}.1"
        self._space = f"meshlab{number}"
        self._card = f"vmeshlab{number}"
        self._ending = False
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: threading.Thread | None = None

    def boot(self) -> None:
        """Its disk and its link are made, and it is up when sshd answers."""
        self.sweep()
        self._link()
        self._disk()
        self._ending = False
        self._watch = threading.Thread(target=self._keep_up, daemon=True)
        self._watch.start()
        self.until_up()

    def end(self) -> None:
        self._ending = True
        self.cut_power()
        if self._watch:
            self._watch.join(PATIENCE_S)
        self.sweep()

    def cut_power(self) -> None:
        """As if the plug were pulled; it comes up again unless it is being ended."""
        if self._process and self._process.poll() is None:
            leader = self.leader()
            if leader:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(leader, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def cut_link(self) -> None:
        _must("ip", "link", "set", self._card, "down")

    def heal_link(self) -> None:
        _must("ip", "link", "set", self._card, "up")

    def run(self, argv: Sequence[str], *, input: bytes = b"") -> Result:
        """One command as its root, by its namespaces: the link may be cut. Bytes that are no text
        survive in `out` as surrogates."""
        leader = self.leader()
        assert leader, f"{self.name} is not up"
        enter = ("nsenter", f"--target={leader}", *_SPACES, "--wd=/", "--", *_CLEAN)
        done = subprocess.run([*enter, *argv], input=input, capture_output=True, timeout=PATIENCE_S)
        out = done.stdout.decode(errors="surrogateescape")
        return Result(done.returncode, out, done.stderr.decode(errors="replace"))

    def out(self, *argv: str, input: bytes = b"") -> str:
        """What a command says that must not fail."""
        done = self.run(argv, input=input)
        assert done.ok, (argv, done)
        return done.out

    def put(self, path: str, data: bytes, mode: str = "644") -> None:
        script = f"mkdir -p $(dirname {path}) && cat > {path} && chmod {mode} {path}"
        self.out("sh", "-c", script, input=data)

    def leader(self) -> int | None:
        """The pid of its init, seen from here."""
        process = self._process
        if process is None or process.poll() is not None:
            return None
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        return next((int(pid) for pid in listed.split()), None)

    def until_up(self) -> None:
        """Raises AssertionError where sshd does not answer in time."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            with contextlib.suppress(OSError):
                known = subprocess.run(
                    ["ssh-keyscan", "-T", "2", self.address], capture_output=True, text=True
                ).stdout
                if known.strip() and self.leader():
                    (self.folder / "known").write_text(known)
                    return
            time.sleep(0.2)
        raise AssertionError(f"{self.name} did not come up: {self.log()[-3000:]}")

    def log(self) -> str:
        path = self.folder / "console"
        return path.read_text(errors="replace") if path.exists() else ""

    def sweep(self) -> None:
        """Whatever an earlier run left, were it killed."""
        subprocess.run(["pkill", "-9", "-f", f"--machine={self.name} "], capture_output=True)
        for mounted in (self.folder / "root", self.folder / "disk"):
            subprocess.run(["umount", "-l", str(mounted)], capture_output=True)
        subprocess.run(["ip", "link", "del", self._card], capture_output=True)
        subprocess.run(["ip", "netns", "del", self._space], capture_output=True)

    def _link(self) -> None:
        _must("ip", "netns", "add", self._space)
        _must("ip", "link", "add", self._card, "type", "veth", "peer", "name", "eth0",
              "netns", self._space)  # fmt: skip
        _must("ip", "addr", "add", f"{self._gate}/24", "dev", self._card)
        _must("ip", "link", "set", self._card, "up")
        _must("ip", "-n", self._space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for card in ("lo", "eth0"):
            _must("ip", "-n", self._space, "link", "set", card, "up")
        _must("ip", "-n", self._space, "route", "add", "default", "via", self._gate)

    def _disk(self) -> None:
        """An overlay whose upper side lies in memory; what podman keeps is bound from outside, for
        its own overlays cannot lie on one."""
        disk, root = self.folder / "disk", self.folder / "root"
        for each in (disk, root):
            each.mkdir(parents=True, exist_ok=True)
        _must("mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", str(disk))
        for part in ("upper", "work", "containers"):
            (disk / part).mkdir()
        options = f"lowerdir={self._tree},upperdir={disk}/upper,workdir={disk}/work"
        _must("mount", "-t", "overlay", "overlay", "-o", options, str(root))
        (root / "etc/containers").mkdir(exist_ok=True)
        (root / "etc/containers/containers.conf").write_text("[containers]\npids_limit = 0\n")
        (root / "etc/resolv.conf").unlink(missing_ok=True)
        (root / "etc/resolv.conf").write_text(
            "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
        )
        (root / "etc/hostname").write_text(f"{self.name}\n")
        (root / "etc/hosts").write_text(f"127.0.0.1 localhost {self.name}\n")
        (root / "etc/machine-id").write_text("")
        ssh = root / "root/.ssh"
        ssh.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(f"{self.key}.pub", ssh / "authorized_keys")

    def _keep_up(self) -> None:
        environ = os.environ | {
            "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
            "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
        }
        command = ["systemd-nspawn", "-D", str(self.folder / "root"), *_NSPAWN]
        command += [f"--network-namespace-path=/run/netns/{self._space}"]
        command += [f"--bind={self.folder}/disk/containers:/var/lib/containers"]
        command += [f"--machine={self.name}", "--quiet"]
        with (self.folder / "console").open("ab") as console:
            while not self._ending:
                self._process = subprocess.Popen(
                    command, env=environ, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                    start_new_session=True,
                )  # fmt: skip
                self._process.wait()


def _must(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
