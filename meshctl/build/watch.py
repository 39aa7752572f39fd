"""Starts a build in the cloud, follows it to its end, and explains an end that is no success."""

from __future__ import annotations

from typing import Any

from meshctl.build.log import BuildLog, log_end
from meshctl.build.request import Doors, Note
from meshctl.errors import CheckFailed, Interrupted
from meshctl.outside.gcp import LostAnswer

Json = dict[str, Any]
ENDED_BADLY = {"FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED"}
"""Build.Status of Cloud Build v1. Everything else but SUCCESS is running, PENDING too."""
FIRST_WAIT_S, LONGEST_WAIT_S, GROWTH = 0.1, 2.0, 1.5
QUEUE_S = 3600.0
"""How long the cloud lets a build wait in its queue unless told otherwise."""
LOST_IN_A_ROW = 30
"""Polls without an answer, about a minute: a cloud that stumbles does not end an hour's build."""
SUBMIT_WAITS_S = (1.0, 2.0, 4.0, 8.0)


def submitted(doors: Doors, body: Json, reference: str) -> Json:
    """The started build. Before it is asked for again it is looked for, by the tag it alone has.

    Raises LostAnswer when the cloud takes no build within a quarter of a minute.
    """
    for wait_s in SUBMIT_WAITS_S:
        try:
            return doors.builds.create_build(body)
        except LostAnswer:
            doors.clock.sleep(wait_s)
            if found := _by_tag(doors, reference):
                return found
    return doors.builds.create_build(body)


def _by_tag(doors: Doors, reference: str) -> Json | None:
    builds = doors.builds.list_builds()
    return next((b for b in builds if reference in b.get("substitutions", {}).values()), None)


def ended(doors: Doors, id: str, timeout_s: float, note: Note, *, ours: bool = True) -> Json:
    """Follow the build until its status is final; a Ctrl-C cancels it in the cloud when it is ours,
    and leaves one that another process began.

    Raises LostAnswer when the cloud is silent, or the build never ends.
    """
    try:
        return _followed(doors, {"id": id}, timeout_s, note)
    except (KeyboardInterrupt, Interrupted):
        if ours:
            doors.builds.cancel_build(id)
        raise


def _followed(doors: Doors, build: Json, timeout_s: float, note: Note) -> Json:
    wait_s, until = FIRST_WAIT_S, doors.clock.monotonic() + QUEUE_S + timeout_s
    seen, lost, log = "", 0, BuildLog(doors)
    while (status := str(build.get("status", ""))) not in {"SUCCESS"} | ENDED_BADLY:
        if status and status != seen:
            note("status", build=build["id"], status=status, log_url=build.get("logUrl", ""))
        seen = status
        _tell(note, log, build)
        if doors.clock.monotonic() > until:
            raise _silent(build, f"the build is still {status}")
        doors.clock.sleep(wait_s)
        wait_s = min(wait_s * GROWTH, LONGEST_WAIT_S)
        try:
            build, lost = doors.builds.get_build(build["id"]), 0
        except LostAnswer as error:
            lost += 1
            if lost == LOST_IN_A_ROW:
                raise _silent(build, error.message) from error
    _tell(note, log, build)
    note("status", build=build["id"], status=status, log_url=build.get("logUrl", ""))
    return build


def _tell(note: Note, log: BuildLog, build: Json) -> None:
    for line in log.more(build):
        note("log", line=line)


def _silent(build: Json, why: str) -> LostAnswer:
    return LostAnswer(why, place=f"build {build['id']}", hint=f"see {build.get('logUrl', '')}")


def pushed_digest(doors: Doors, build: Json, reference: str, place: str) -> str:
    """The digest under which the image was pushed.

    Raises CheckFailed that names the failing step and quotes the end of the log.
    """
    pushed = {image.get("name"): image.get("digest") for image in
              build.get("results", {}).get("images", [])}  # fmt: skip
    if build["status"] == "SUCCESS" and pushed.get(reference):
        return str(pushed[reference])
    if build["status"] == "SUCCESS":
        why = f"the build succeeded, but did not push {reference}"
    else:
        why = f"the build ended {build['status']}{_where(build)}"
    raise CheckFailed("\n".join([why, *log_end(doors, build)]), place=place, hint=_hint(build))


def _where(build: Json) -> str:
    """The step that failed, and what the cloud says of it."""
    steps = enumerate(build.get("steps", []))
    failed = [
        str(step.get("id") or f"{number} ({step.get('name', '')})")
        for number, step in steps
        if step.get("status") in ENDED_BADLY
    ]
    detail = build.get("failureInfo", {}).get("detail") or build.get("statusDetail", "")
    return (f" in step {failed[0]}" if failed else "") + (f": {detail}" if detail else "")


def _hint(build: Json) -> str:
    url = build.get("logUrl")
    return f"see the whole log: {url}" if url else f"see build {build['id']} in the cloud"
