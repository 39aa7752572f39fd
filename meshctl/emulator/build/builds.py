"""Builds: what is asked for, how far each one is, and how it ended."""

from __future__ import annotations

import asyncio
import base64
import re
import uuid
from pathlib import Path
from typing import Any

from meshctl.emulator import disk, spawn
from meshctl.emulator.build import substitutions
from meshctl.emulator.build.run import Run
from meshctl.emulator.failures import ApiError, invalid
from meshctl.emulator.images.registry import Registry
from meshctl.emulator.moment import now_us, rfc3339
from meshctl.emulator.settings import Settings
from meshctl.emulator.storage.objects import Store

Build = dict[str, Any]
BUILD_TYPE = "type.googleapis.com/google.devtools.cloudbuild.v1.Build"
META_TYPE = "type.googleapis.com/google.devtools.cloudbuild.v1.BuildOperationMetadata"
ENDED = ("SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED")
_ENUMS = {
    "substitutionOption": ["MUST_MATCH", "ALLOW_LOOSE"],
    "logging": [
        "LOGGING_UNSPECIFIED",
        "LEGACY",
        "GCS_ONLY",
        "STACKDRIVER_ONLY",
        "NONE",
        "CLOUD_LOGGING_ONLY",
    ],
    "machineType": [
        "UNSPECIFIED",
        "N1_HIGHCPU_8",
        "N1_HIGHCPU_32",
        "",
        "",
        "E2_HIGHCPU_8",
        "E2_HIGHCPU_32",
        "E2_MEDIUM",
    ],
}


class Builds:
    """Every build, newest last; the running ones as tasks."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        registry: Registry,
        children: spawn.Children,
        settings: Settings,
    ) -> None:
        self._folder, self._store, self._registry = folder, store, registry
        self._children, self._settings = children, settings
        disk.remove(folder / "work")
        rows = sorted(disk.read_all(folder), key=lambda row: row["createTime"])
        self._rows: dict[str, Build] = {row["id"]: row for row in rows}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        for row in rows:
            if row["status"] not in ENDED:
                self._interrupt(row)

    def _interrupt(self, build: Build) -> None:
        build |= {"status": "INTERNAL_ERROR", "finishTime": rfc3339(now_us())}
        build["statusDetail"] = "The build was interrupted by a restart of the server."
        self.save(build)

    @property
    def count(self) -> int:
        """How many builds are remembered."""
        return len(self._rows)

    def save(self, build: Build) -> None:
        """Write a build down."""
        disk.write_json(self._folder / f"{build['id']}.json", build)

    def create(self, project: str, location: str, body: Build) -> Build:
        """Check a build, remember it and start it; ApiError 400."""
        build_id = str(uuid.uuid4())
        build = substitutions.apply(_named(body), self._built_in(project, location, build_id))
        self._check(build)
        build |= {
            "name": f"projects/{project}/locations/{location}/builds/{build_id}",
            "id": build_id,
            "projectId": project,
            "status": "QUEUED",
            "createTime": rfc3339(now_us()),
            "queueTtl": "3600s",
        }
        build.setdefault("timeout", "3600s")  # facts s7: 60 minutes by default
        self._place_logs(build, project)
        self._rows[build_id] = build
        self.save(build)
        self._start(build)
        return build

    def _built_in(self, project: str, location: str, build_id: str) -> dict[str, str]:
        account = f"{self._settings.project_number}@cloudbuild.gserviceaccount.com"
        return {
            "PROJECT_ID": project,
            "PROJECT_NUMBER": self._settings.project_number,
            "LOCATION": location,
            "BUILD_ID": build_id,
            "SERVICE_ACCOUNT": account,
            "SERVICE_ACCOUNT_EMAIL": account,
        }

    @staticmethod
    def _check(build: Build) -> None:
        if not build.get("steps"):
            raise invalid("invalid build: at least one build step is required", "build.steps")
        for index, step in enumerate(build["steps"]):
            if not step.get("name"):
                raise invalid(f"invalid build: step {index} has no name", "build.steps")
        if not re.fullmatch(r"\d+(\.\d+)?s", build.get("timeout", "0s")):
            raise invalid("invalid build: Illegal duration format in timeout", "build.timeout")
        logging = (build.get("options") or {}).get("logging", "")
        # facts s7: a service account of one's own needs an explicit logging choice.
        if build.get("serviceAccount") and not (logging or build.get("logsBucket")):
            raise invalid(
                "if 'build.service_account' is specified, the build must either specify "
                "'build.logs_bucket' or use an explicit logging option",
                "build.service_account",
            )

    def _place_logs(self, build: Build, project: str) -> None:
        """The default bucket is made when first needed; a named one must be there."""
        logging = (build.get("options") or {}).get("logging", "LEGACY")
        if logging in ("NONE", "CLOUD_LOGGING_ONLY", "STACKDRIVER_ONLY"):
            return
        default = f"gs://{project}_cloudbuild-logs"
        if build.setdefault("logsBucket", default) == default:
            name = default.removeprefix("gs://")
            if name not in self._store.buckets:
                self._store.create(name, {"project": project})
        build["logUrl"] = f"{build['logsBucket']}/log-{build['id']}.txt"

    def _start(self, build: Build) -> None:
        work = self._folder / "work" / build["id"]
        run = Run(build, work, self._store, self._registry, self._children, self._settings)
        task = asyncio.create_task(run.whole(self.save))
        self._tasks[build["id"]] = task
        task.add_done_callback(lambda _: self._tasks.pop(build["id"], None))

    def get(self, build_id: str) -> Build:
        """One build; ApiError 404."""
        if build_id not in self._rows:
            raise ApiError("NOT_FOUND", f"Build '{build_id}' not found.")
        return self._rows[build_id]

    def list(self, project: str, location: str | None) -> list[Build]:
        """The builds of a project (and location), newest first."""
        parent = f"projects/{project}/locations/" + (f"{location}/" if location else "")
        return [b for b in reversed(self._rows.values()) if b["name"].startswith(parent)]

    async def cancel(self, build_id: str) -> Build:
        """Cancel a build that has not ended; one that has is a 400."""
        build = self.get(build_id)
        task = self._tasks.get(build_id)
        if task is None:
            raise ApiError("FAILED_PRECONDITION", "Unable to cancel a build that has ended.")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if build["status"] not in ENDED:
            build |= {"status": "CANCELLED", "finishTime": rfc3339(now_us())}
            self.save(build)
        return build

    async def close(self) -> None:
        """Stop what runs: it is found interrupted at the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel("shutdown")
        await asyncio.gather(*tasks, return_exceptions=True)

    def operation(self, build: Build) -> dict[str, Any]:
        """The build as the long-running operation its client polls."""
        code = base64.urlsafe_b64encode(build["id"].encode()).decode()
        out: dict[str, Any] = {
            "name": f"operations/build/{build['projectId']}/{code}",
            "metadata": {"@type": META_TYPE, "build": build},
            "done": build["status"] in ENDED,
        }
        if build["status"] == "SUCCESS":
            out["response"] = {"@type": BUILD_TYPE, **build}
        elif out["done"]:
            out["error"] = self._error(build)
        return out

    def _error(self, build: Build) -> dict[str, Any]:
        codes = {"TIMEOUT": 4, "CANCELLED": 1, "INTERNAL_ERROR": 13}
        code = codes.get(build["status"], self._settings.failed_build_code)
        detail = build.get("statusDetail") or "check build logs for details"
        return {"code": code, "message": f"Build failed; {detail}"}


def _named(body: Build) -> Build:
    """The build with option numbers replaced by their names."""
    options = dict(body.get("options") or {})
    for key, names in _ENUMS.items():
        if isinstance(options.get(key), int):
            options[key] = names[options[key]] if options[key] < len(names) else options[key]
    return {**body, **({"options": options} if options else {})}
