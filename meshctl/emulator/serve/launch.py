"""What an instance is started with: the program, its folder and its whole environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from meshctl.emulator.images import roots
from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.serve.mounts import Mounts

_IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CannotStart(Exception):
    """An instance that will not serve; the text is the cause as the condition shows it."""

    code = 9  # google.rpc code of the operation (facts s5)
    reason: ClassVar[dict[str, str]] = {"revisionReason": "HEALTH_CHECK_CONTAINER_ERROR"}

    def told(self, revision: str) -> str:
        """The text for the operation of a new revision; since 2025 it begins with the cause."""
        return str(self)


class MissingSecret(CannotStart):
    """A secret the container asks for that the settings do not hold."""

    reason: ClassVar[dict[str, str]] = {"reason": "SECRETS_ACCESS_CHECK_FAILED"}


@dataclass(frozen=True)
class Launch:
    """Everything of a revision that its instances need."""

    origin: Origin
    root: Path
    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str]
    declared_port: int
    probe: dict[str, Any]
    concurrency: int
    timeout_s: float
    clean_up: Callable[[], None]  # when the instance is gone

    def environment(self, port: int, metadata_host: str, home: Path) -> dict[str, str]:
        """The child's environment: the image's, the declared one, the contract's. Nothing else."""
        # facts s5: PORT, K_SERVICE, K_REVISION and K_CONFIGURATION are injected.
        contract = {
            "PORT": str(port),
            "K_SERVICE": self.origin.service,
            "K_REVISION": self.origin.revision,
            "K_CONFIGURATION": self.origin.service,
        }
        base = {"HOME": str(home), "LANG": "C.UTF-8", "GCE_METADATA_HOST": metadata_host}
        env = base | self.env | contract
        here = os.path.dirname(sys.executable)
        env["PATH"] = f"{here}:{env.get('PATH', _IMAGE_PATH)}"
        return env


def prepare(
    origin: Origin,
    root: Path,
    config: dict[str, Any],
    template: dict[str, Any],
    env: dict[str, str],
    mounts: Mounts,
) -> Launch:
    """Combine image configuration and template; CannotStart when there is no such program.

    Mount paths in arguments and in the image's variables are moved; `env` is taken as it is.
    """
    container = serving_container(template)
    argv = [mounts.moved(word) for word in _words(container, config)]
    env = {k: mounts.moved(v) for k, v in (e.split("=", 1) for e in config.get("Env", []))} | env
    workdir = container.get("workingDir") or config.get("WorkingDir") or "/"
    program = _program(root, workdir, env, argv)
    return Launch(
        origin=origin,
        root=root,
        argv=(str(program), *argv[1:]),
        cwd=root / workdir.strip("/"),
        env=env,
        declared_port=declared_port(container),
        probe=container.get("startupProbe", {}),
        concurrency=int(template.get("maxInstanceRequestConcurrency", 80)),
        timeout_s=float(str(template.get("timeout", "300s")).rstrip("s")),
        clean_up=mounts.remove,
    )


def _words(container: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """facts s5: command replaces ENTRYPOINT, args replaces CMD; a command alone drops CMD too."""
    command, args = container.get("command"), container.get("args")
    if args is None:
        args = [] if command else config.get("Cmd") or []
    return [*(command or config.get("Entrypoint") or []), *args]


def _program(root: Path, workdir: str, env: dict[str, str], argv: list[str]) -> Path:
    if not argv:
        raise CannotStart("The image has no entrypoint and the container no command.")
    found = roots.program(root, workdir, env.get("PATH", _IMAGE_PATH), argv[0])
    if found is None:
        raise CannotStart(
            f"The program '{argv[0]}' does not exist inside the image or cannot be executed."
        )
    return found


def serving_container(template: dict[str, Any]) -> dict[str, Any]:
    """The container with the port; the only one when there is one."""
    containers: list[dict[str, Any]] = template.get("containers", [{}])
    return next((c for c in containers if c.get("ports")), containers[0])


def declared_port(container: dict[str, Any]) -> int:
    """The container port of the template (facts s1: 8080 by default)."""
    ports = container.get("ports") or [{}]
    return int(ports[0].get("containerPort") or 8080)
