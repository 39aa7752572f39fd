"""A systemctl of few words, for user units that run one program: no root, no systemd.

It starts what ExecStart says, counts what ends by itself as a restart, and says so as `systemctl
show` does. State lies in $HOME/.units; while a file `fail-VERB` is there, that verb fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

STATE = Path(os.environ["HOME"]) / ".units"
UNITS = Path(os.environ["HOME"]) / ".config/systemd/user"


def main(words: list[str]) -> int:
    STATE.mkdir(exist_ok=True)
    plain = [word for word in words if not word.startswith("-")]
    verb = plain[0] if plain else ""
    with (STATE / "calls").open("a") as calls:
        calls.write(" ".join(words) + "\n")
    if (STATE / f"fail-{verb}").exists():
        print(f"Failed to {verb}", file=sys.stderr)
        return 1
    if verb == "show":
        return show(words)
    name = plain[-1]
    if verb == "start":
        start(name)
    elif verb == "stop":
        stop(name)
    elif verb == "is-active":
        return 0 if now(name)["ActiveState"] == "active" else 3
    return 0


def show(words: list[str]) -> int:
    if "--value" in words:
        wanted = words[words.index("-p") + 1]
        print(now(words[-1]).get(wanted, ""))
        return 0
    if "--" not in words:
        print("Version=257")
        return 0
    wanted = ",".join(words[n + 1] for n, word in enumerate(words) if word == "-p").split(",")
    for name in words[words.index("--") + 1 :]:
        print("\n".join(f"{key}={value}" for key, value in now(name).items() if key in wanted))
        print()
    return 0


def kept(name: str) -> dict[str, object]:
    path = STATE / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep(name: str, said: dict[str, object]) -> None:
    (STATE / f"{name}.json").write_text(json.dumps(said))


def now(name: str) -> dict[str, str]:
    """One unit; a program that ended by itself is started again, as Restart=always does."""
    said = kept(name)
    loaded = "loaded" if (UNITS / name).exists() else "not-found"
    active = "inactive"
    if said.get("pid"):
        if not alive(int(str(said["pid"]))):
            spawn(name, int(str(said["restarts"])) + 1)
            said = kept(name)
        active = "active"
    return {
        "Id": name,
        "LoadState": loaded,
        "ActiveState": active,
        "SubState": "running" if active == "active" else "dead",
        "NRestarts": str(said.get("restarts", 0)),
        "Result": "success",
        "InvocationID": str(said.get("invocation", "")),
        "FragmentPath": str(UNITS / name),
    }


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def start(name: str) -> None:
    said = kept(name)
    if not (said.get("pid") and alive(int(str(said["pid"])))):
        spawn(name, 0)


def spawn(name: str, restarts: int) -> None:
    command, environ = [], dict(os.environ)
    for line in (UNITS / name).read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "ExecStart":
            command = shlex.split(value)
        elif key == "Environment":
            (word,) = shlex.split(value)
            variable, _, text = word.partition("=")
            environ[variable] = text
    with (STATE / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    keep(name, {"pid": process.pid, "restarts": restarts, "invocation": uuid.uuid4().hex})


def stop(name: str) -> None:
    said = kept(name)
    pid = int(str(said.get("pid") or 0))
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while alive(pid):
            time.sleep(0.01)
    keep(name, {**said, "pid": 0, "restarts": 0})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
