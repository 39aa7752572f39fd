"""One build from its source to its pushed images."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from meshctl.emulator import disk, spawn
from meshctl.emulator.build import source
from meshctl.emulator.build.docker import Docker
from meshctl.emulator.build.dockerfile import BuildError
from meshctl.emulator.build.log import BuildLog
from meshctl.emulator.build.steps import StepFailed, Steps
from meshctl.emulator.images.registry import Registry
from meshctl.emulator.moment import now_us, rfc3339
from meshctl.emulator.settings import Settings
from meshctl.emulator.storage.objects import Store

_LOG = logging.getLogger("meshctl.emulator")
Save = Callable[[dict[str, Any]], None]


class Ended(Exception):
    """A build that failed: type and detail of its failureInfo."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def _seconds(text: str) -> float:
    return float(text.rstrip("s"))


class Run:
    """Carries out one build and writes its progress into the build itself."""

    def __init__(
        self,
        build: dict[str, Any],
        work: Path,
        store: Store,
        registry: Registry,
        children: spawn.Children,
        settings: Settings,
    ) -> None:
        self._build, self._work, self._store = build, work, store
        self._docker = Docker(registry)
        self._settings, self._children = settings, children
        self._bucket, self._log_name = self._log_place()
        bucket = self._bucket if self._bucket in store.buckets else None
        self._log = BuildLog(work / "log.txt", store, bucket, self._log_name)
        self._workspace = Path(os.path.realpath(work)) / "workspace"

    def _log_place(self) -> tuple[str, str]:
        place = self._build.get("logsBucket", "").removeprefix("gs://")
        bucket, _, prefix = place.partition("/")
        name = f"log-{self._build['id']}.txt"
        return bucket, f"{prefix.strip('/')}/{name}" if prefix.strip("/") else name

    async def whole(self, save: Save) -> None:
        """Run to the end, whatever it is, and write it down."""
        self._build |= {"status": "WORKING", "startTime": rfc3339(now_us())}
        save(self._build)
        self._log.begin()
        outcome = await self._outcome(save)
        self._log.line("DONE" if outcome["status"] == "SUCCESS" else f"ERROR: {outcome['status']}")
        if outcome.get("statusDetail"):
            self._log.line(outcome["statusDetail"])
        # The log is complete before anybody can see that the build has ended.
        await self._log.end()
        self._build |= {**outcome, "finishTime": rfc3339(now_us())}
        save(self._build)
        await asyncio.to_thread(disk.remove, self._work)

    async def _outcome(self, save: Save) -> dict[str, Any]:
        """How the build ended: its last status with the detail that belongs to it."""
        try:
            async with asyncio.timeout(_seconds(self._build["timeout"])):
                await self._carry_out(save)
            return {"status": "SUCCESS"}
        except TimeoutError:
            return {"status": "TIMEOUT", "statusDetail": "build timed out"}
        except Ended as err:
            info = {"type": err.kind, "detail": str(err)}
            return {"status": "FAILURE", "statusDetail": str(err), "failureInfo": info}
        except asyncio.CancelledError as err:
            if "shutdown" in err.args:
                raise
            return {"status": "CANCELLED", "statusDetail": "build cancelled"}
        except Exception as err:
            _LOG.exception("build %s", self._build["id"])
            return {"status": "INTERNAL_ERROR", "statusDetail": f"internal error: {err!r}"}

    async def _carry_out(self, save: Save) -> None:
        self._log.line(f'starting build "{self._build["id"]}"\n\nFETCHSOURCE')
        if self._build.get("logUrl") and self._bucket not in self._store.buckets:
            raise Ended("LOGGING_FAILURE", f"the logs bucket '{self._bucket}' does not exist")
        await self._fetch()
        self._log.line("BUILD")
        steps = Steps(self._settings, self._children, self._docker, self._log, self._workspace)
        for index, step in enumerate(self._build["steps"]):
            await self._step(steps, index, step, save)
        await self._push()

    async def _fetch(self) -> None:
        self._workspace.mkdir(parents=True)
        if not self._build.get("source"):
            return
        try:
            file = source.locate(self._store, self._build["source"])
            await asyncio.to_thread(source.unpack, file, self._workspace)
        except source.SourceError as err:
            raise Ended("FETCH_SOURCE_FAILED", str(err)) from err

    async def _step(self, steps: Steps, index: int, step: dict[str, Any], save: Save) -> None:
        title = f"Step #{index}" + (f' - "{step["id"]}"' if step.get("id") else "")
        self._log.line(f"Starting {title}\n{title}: {step['name']}")
        step |= {"status": "WORKING", "timing": {"startTime": rfc3339(now_us())}}
        save(self._build)
        env = (self._build.get("options") or {}).get("env", [])
        try:
            async with asyncio.timeout(_seconds(step["timeout"]) if "timeout" in step else None):
                await steps.run(step, env)
            step["status"] = "SUCCESS"
        except StepFailed as err:
            self._failed(index, step, err)
        except TimeoutError as err:
            step["status"] = "TIMEOUT"
            raise Ended("USER_BUILD_STEP", f"build step {index} timed out") from err
        except asyncio.CancelledError:
            step["status"] = "CANCELLED"
            raise
        finally:
            step["timing"]["endTime"] = rfc3339(now_us())
            self._log.line(f"Finished {title}")

    def _failed(self, index: int, step: dict[str, Any], err: StepFailed) -> None:
        step["status"] = "FAILURE"
        if err.exit_code is not None:
            step["exitCode"] = err.exit_code
        if step.get("allowFailure") or err.exit_code in step.get("allowExitCodes", []):
            return
        text = f'build step {index} "{step["name"]}" failed: {err}'
        raise Ended("USER_BUILD_STEP", text) from err

    async def _push(self) -> None:
        """facts s7: images named by the build are pushed last; a failing push fails the build."""
        rows = []
        for name in self._build.get("images", []):
            started = rfc3339(now_us())
            try:
                said = self._docker.push(name)
            except BuildError as err:
                raise Ended("PUSH_IMAGE_NOT_FOUND", str(err)) from err
            self._log.line(f"PUSH\nPushing {name}\n{said}")
            timing = {"startTime": started, "endTime": rfc3339(now_us())}
            rows.append({"name": name, "digest": self._docker.pushed[name], "pushTiming": timing})
        self._build["results"] = {"images": rows} if rows else {}
