"""Build steps: each one a local program, or the built-in docker, in the workspace."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import sys
from pathlib import Path
from typing import Any

from meshctl.emulator import spawn
from meshctl.emulator.build.docker import Docker
from meshctl.emulator.build.dockerfile import BuildError
from meshctl.emulator.build.log import BuildLog
from meshctl.emulator.settings import DOCKER, Settings

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class StepFailed(Exception):
    """A step that did not end well; exit code when a program ran."""

    def __init__(self, text: str, exit_code: int | None = None) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class Steps:
    """Runs the steps of one build."""

    def __init__(
        self,
        settings: Settings,
        children: spawn.Children,
        docker: Docker,
        log: BuildLog,
        workspace: Path,
    ) -> None:
        self._settings, self._children = settings, children
        self._docker, self._log, self._workspace = docker, log, workspace
        self._home = workspace.parent / "home"
        self._home.mkdir(exist_ok=True)

    def program(self, name: str) -> str | None:
        """What the table of builders says of an image name, None when it is not in it."""
        for pattern, program in self._settings.builders.items():
            if name == pattern or fnmatch.fnmatchcase(name, pattern):
                return program
        return None

    async def run(self, step: dict[str, Any], shared_env: list[str]) -> None:
        """Run one step to its end; StepFailed."""
        name = step.get("name", "")
        program = self.program(name)
        if program is None:
            # An unknown builder fails like an image that cannot be pulled.
            raise StepFailed(f'error pulling image "{name}": manifest unknown: not found')
        if step.get("secretEnv"):
            raise StepFailed("secretEnv is not supported by this server")
        folder = self._folder(step.get("dir", ""))
        if program == DOCKER and step.get("entrypoint", "docker") == "docker":
            await self._run_docker(step.get("args", []), folder)
        else:
            await self._run_program(step, folder, shared_env)

    def _folder(self, text: str) -> Path:
        inside = self._mapped(text) if text else str(self._workspace)
        folder = Path(os.path.realpath(self._workspace / inside))
        if folder != self._workspace and self._workspace not in folder.parents:
            raise StepFailed(f"dir '{text}' lies outside the workspace")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _mapped(self, text: str) -> str:
        """/workspace is a folder of the machine here, so it is replaced in texts."""
        if self._settings.map_workspace:
            return text.replace("/workspace", str(self._workspace))
        return text

    async def _run_docker(self, words: list[str], folder: Path) -> None:
        words = [word.removeprefix("/workspace/") for word in words]
        try:
            said = await asyncio.to_thread(self._docker.run, words, folder)
        except BuildError as err:
            self._log.line(str(err))
            raise StepFailed(f"step exited with non-zero status: 1 ({err})", 1) from err
        self._log.write(said.encode())

    async def _run_program(self, step: dict[str, Any], folder: Path, shared_env: list[str]) -> None:
        argv = [self._mapped(word) for word in self._argv(step)]
        env = self._environment([*shared_env, *step.get("env", [])])
        try:
            process = await self._children.start(argv, cwd=folder, env=env)
        except OSError as err:
            raise StepFailed(f"could not start '{argv[0]}': {err.strerror}", 127) from err
        try:
            await self._follow(process)
        finally:
            await spawn.end(process, 0.5)
            self._children.forget(process.pid)
        if process.returncode:
            code = process.returncode
            raise StepFailed(f"step exited with non-zero status: {code}", code)

    @staticmethod
    def _argv(step: dict[str, Any]) -> list[str]:
        if step.get("script"):
            return ["bash", "-c", step["script"]]
        args: list[str] = step.get("args", [])
        if step.get("entrypoint"):
            return [step["entrypoint"], *args]
        # The entrypoint of the bash image takes options for its shell.
        return args if args and not args[0].startswith("-") else ["bash", *args]

    def _environment(self, rows: list[str]) -> dict[str, str]:
        env = {
            "PATH": f"{os.path.dirname(sys.executable)}:{_PATH}",
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
        }
        return env | {k: self._mapped(v) for k, _, v in (row.partition("=") for row in rows)}

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while data := await process.stdout.read(65536):
            self._log.write(data)
        await process.wait()
