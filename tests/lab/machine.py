"""One real machine: systemd, podman and sshd in a namespace of its own, on a disk that it keeps.

systemd-nspawn boots the shared tree under an overlay, and boots it again whenever it ended: after a
reboot from inside, and after a power cut, which is SIGKILL. The link is a pair of virtual cards and
can be cut.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from meshctl.outside.shell import Result
from tests.lab.disk import furnish, must
from tests.lab.slots import children, sweep

PATIENCE_S = 120.0
_NSPAWN = (
    "--boot",
    "--register=no",
    "--keep-unit",
    "--console=pipe",
    "--capability=all",
    "--system-call-filter=add_key keyctl bpf",
)
_SSH = (
    "BatchMode=yes",
    "ConnectTimeout=5",
    "ServerAliveInterval=5",
    "StrictHostKeyChecking=yes",
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
        sweep(self.name, self._card, self._space)
        self._link()
        furnish(self.folder, self._tree, self.name, self.key)
        self._ending = False
        self._watch = threading.Thread(target=self._keep_up, daemon=True)
        self._watch.start()
        self.until_up()

    def end(self) -> None:
        self._ending = True
        self.cut_power()
        if self._watch:
            self._watch.join(PATIENCE_S)
        sweep(self.name, self._card, self._space)

    def cut_power(self) -> None:
        """As if the plug were pulled; it comes up again unless it is being ended."""
        process, leader = self._process, self.leader()
        if process and process.poll() is None:
            if leader:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(leader, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE_S)

    def reboot(self) -> None:
        """From inside, as its root does it. Raises AssertionError where no other boot answers."""
        before = self.boot_id()
        assert before, f"{self.name} does not answer"
        self.ssh("systemctl", "--no-block", "reboot")
        limit = time.monotonic() + PATIENCE_S
        while self.boot_id() in (before, ""):
            assert time.monotonic() < limit, f"{self.name} did not reboot: {self.log()[-3000:]}"
            time.sleep(0.2)

    def boot_id(self) -> str:
        """Another one after each boot, "" while it does not answer over the link."""
        return self.ssh("cat", "/proc/sys/kernel/random/boot_id").out.strip()

    def ssh(self, *words: str) -> Result:
        """One command as any client of its sshd runs it; code 255 where the link is down."""
        known = f"UserKnownHostsFile={self.folder}/known"
        options = (*_SSH, known, f"IdentityFile={self.key}")
        command = ["ssh", "-F", "none", *(f"-o{each}" for each in options)]
        done = subprocess.run(
            [*command, f"root@{self.address}", *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    def cut_link(self) -> None:
        must("ip", "link", "set", self._card, "down")

    def heal_link(self) -> None:
        must("ip", "link", "set", self._card, "up")

    def run(self, argv: Sequence[str], *, input: bytes = b"") -> Result:
        """One command as its root, by its namespaces: the link may be cut. Bytes that are no text
        survive in `out` as surrogates."""
        leader = self.leader()
        assert leader, f"{self.name} is not up"
        enter = ("nsenter", f"--target={leader}", *_SPACES, "--", *_CLEAN)
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
        return next(iter(children(process.pid)), None)

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

    def _link(self) -> None:
        must("ip", "netns", "add", self._space)
        must("ip", "link", "add", self._card, "type", "veth", "peer", "name", "eth0",
              "netns", self._space)  # fmt: skip
        must("ip", "addr", "add", f"{self._gate}/24", "dev", self._card)
        must("ip", "link", "set", self._card, "up")
        must("ip", "-n", self._space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for card in ("lo", "eth0"):
            must("ip", "-n", self._space, "link", "set", card, "up")
        must("ip", "-n", self._space, "route", "add", "default", "via", self._gate)

    def _keep_up(self) -> None:
        environ = os.environ | {
            "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "yes",
            "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
        }
        # It dies with the session: this thread lives as long as the machine does.
        command = ["setpriv", "--pdeathsig=KILL", "systemd-nspawn", *_NSPAWN]
        command += ["-D", str(self.folder / "root")]
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
                time.sleep(0.1)  # where it cannot even start, it is not tried all the time
