"""A build from its context to its record, through hand-made doors."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meshctl.build.request import BuildRequest, Doors
from meshctl.build.run import build
from meshctl.errors import CheckFailed, Refused, Unreachable, UsageError
from meshctl.outside.gcp import LostAnswer
from meshctl.outside.objects import DirStore
from meshctl.spec.model import Image
from meshctl.state.builds import builds_of, latest

Asked = Callable[..., BuildRequest]


def states(doors: Doors) -> list[tuple[str, str]]:
    return [(built.tag, built.state) for built in builds_of(doors.store, "mesh")]


def test_a_build_is_recorded_with_its_digest_and_origin(asked: Asked, doors: Doors) -> None:
    built = build(asked(), doors)

    assert (built.tag, built.digest, built.build) == ("mesh-v1", "sha256:" + "b1" * 32, "b1")
    assert (built.commit, built.dirty, built.state) == ("c0ffee", False, "done")
    assert latest(doors.store, "mesh", built.repository).done == built


def test_the_context_is_uploaded_to_the_projects_bucket(asked: Asked, doors: Doors) -> None:
    built = build(asked(), doors)

    ((bucket, name),) = doors.uploads.objects
    data = doors.uploads.objects[bucket, name]
    assert bucket == "local_cloudbuild" and name.startswith("source/mesh-")
    assert built.bytes == len(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getnames() == ["Dockerfile", "app"]


def test_the_same_again_is_reused_without_an_upload(asked: Asked, doors: Doors) -> None:
    first = build(asked(), doors)

    second = build(asked(), doors)

    assert second == first.model_copy(update={"reused": True})
    assert len(doors.builds.known) == len(doors.uploads.objects) == 1


def test_an_old_build_that_is_reused_is_the_newest_again(
    asked: Asked, doors: Doors, fleet: Path
) -> None:
    """Deploy takes the newest: it must be what the context says, not what was built last."""
    app = fleet / "context" / "app"
    first = build(asked(), doors)
    app.write_text("two")
    build(asked(), doors)
    app.write_text("one")

    back, again = build(asked(), doors), build(asked(), doors)

    done = latest(doors.store, "mesh", first.repository).done
    assert done and (done.number, done.tag, done.digest) == (3, first.tag, first.digest)
    assert (back.reused, back.number, again.number) == (True, 3, 3)
    assert len(doors.builds.known) == 2


@pytest.mark.parametrize("state", [".meshctl/state", "records"])
def test_the_state_inside_the_context_is_no_part_of_it(
    asked: Asked, doors: Doors, fleet: Path, state: str
) -> None:
    """The first build writes its record there; were it packed, nothing would ever be reused."""
    (fleet / ".gcloudignore").write_text("!.meshctl\n!records\n")
    here = replace(doors, store=DirStore(fleet / state))
    request = replace(asked(context="."), exclude=(fleet / state,))

    first, again = build(request, here), build(request, here)

    assert (first.reused, again.reused) == (False, True)
    assert (fleet / state / "builds").is_dir()


def test_a_changed_file_gets_the_next_tag(asked: Asked, doors: Doors, fleet: Path) -> None:
    build(asked(), doors)
    (fleet / "context" / "app").write_text("two")

    built = build(asked(), doors)

    assert (built.tag, built.reused) == ("mesh-v2", False)


def test_a_changed_recipe_is_built_anew(asked: Asked, doors: Doors, fleet: Path) -> None:
    build(asked(), doors)
    recipe = fleet / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("build,", "build, --no-cache,"))

    assert build(asked(), doors).tag == "mesh-v2"


def test_an_image_that_the_cloud_forgot_is_built_anew(asked: Asked, doors: Doors) -> None:
    build(asked(), doors)
    doors.builds.known.clear()

    assert build(asked(), doors).tag == "mesh-v2"


def test_numbers_of_builds_made_by_others_are_not_used(asked: Asked, doors: Doors) -> None:
    repository = asked().spec.repository
    doors.builds.known.append({"id": "by-hand", "images": [f"{repository}:mesh-v41"]})

    assert build(asked(), doors).tag == "mesh-v42"


def test_a_failed_build_keeps_its_number(asked: Asked, doors: Doors) -> None:
    doors.builds.end = {"status": "FAILURE"}
    with pytest.raises(CheckFailed):
        build(asked(), doors)

    doors.builds.end = {"status": "SUCCESS"}
    build(asked(), doors)

    assert states(doors) == [("mesh-v2", "done"), ("mesh-v1", "failed")]


def test_a_failure_names_the_step_and_quotes_the_end_of_the_log(asked: Asked, doors: Doors) -> None:
    steps = [{"id": "fetch", "status": "SUCCESS"}, {"id": "image", "status": "FAILURE"}]
    doors.builds.end = {"status": "FAILURE", "steps": steps,
                        "failureInfo": {"detail": "COPY failed"}}  # fmt: skip
    lines = [f"line {number}" for number in range(1, 31)]
    doors.uploads.objects["logs", "deep/log-b1.txt"] = "\n".join(lines).encode()

    with pytest.raises(CheckFailed) as failed:
        build(asked(), doors)

    first, *log = failed.value.message.splitlines()
    assert first == "the build ended FAILURE in step image: COPY failed"
    assert log == lines[-20:]
    assert "https://logs/b1" in failed.value.hint


def test_a_success_that_pushed_nothing_is_a_failure(asked: Asked, doors: Doors) -> None:
    doors.builds.end = {"status": "SUCCESS", "results": {}}

    with pytest.raises(CheckFailed, match="did not push"):
        build(asked(), doors)


def test_pending_counts_as_running(asked: Asked, doors: Doors) -> None:
    doors.builds.course = ["PENDING", "QUEUED", "WORKING"]

    assert build(asked(), doors).state == "done"


def test_polls_grow_from_a_tenth_to_two_seconds(asked: Asked, doors: Doors) -> None:
    doors.builds.course = ["WORKING"] * 20

    build(asked(), doors)

    assert doors.clock.slept[0] == 0.1
    assert doors.clock.slept[-1] == 2.0


def test_a_lost_answer_of_create_does_not_start_a_second_build(asked: Asked, doors: Doors) -> None:
    doors.builds.lose_answers_of_create = 1

    built = build(asked(), doors)

    assert built.build == "b1"
    assert len(doors.builds.known) == 1


def test_a_request_that_never_arrived_is_sent_again(asked: Asked, doors: Doors) -> None:
    doors.builds.lose_builds = 2

    assert build(asked(), doors).build == "b1"


def test_a_cloud_that_stumbles_does_not_end_a_build(asked: Asked, doors: Doors) -> None:
    doors.builds.stumbles = 20

    assert build(asked(), doors).state == "done"


def test_a_cloud_that_stays_silent_leaves_the_build_open(asked: Asked, doors: Doors) -> None:
    doors.builds.stumbles = 10_000

    with pytest.raises(Unreachable):
        build(asked(), doors)

    (record,) = builds_of(doors.store, "mesh")
    assert (record.state, record.build) == ("reserved", "b1")


def test_a_build_that_never_ends_is_given_up(asked: Asked, doors: Doors) -> None:
    doors.builds.course = ["WORKING"] * 100_000

    with pytest.raises(Unreachable, match="still WORKING"):
        build(asked(timeout="10s"), doors)

    assert 3610 < doors.clock.monotonic() < 3620


def test_an_interrupt_cancels_the_build_in_the_cloud(asked: Asked, doors: Doors) -> None:
    def note(event: str, **details: Any) -> None:
        if details.get("status") == "WORKING":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(asked(), doors, note)

    assert doors.builds.cancelled == ["b1"]
    assert states(doors) == [("mesh-v1", "failed")]


def test_an_upload_that_fails_is_recorded_as_failed(asked: Asked, doors: Doors) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise LostAnswer("no network")

    with pytest.raises(Unreachable):
        build(asked(), replace(doors, uploads=Broken()))

    assert states(doors) == [("mesh-v1", "failed")]


def test_a_number_lost_to_another_build_is_skipped(asked: Asked, doors: Doors) -> None:
    class Racing:
        """Somebody reserves the next number while we read the list of builds."""

        def list_builds(self, filter: str = "") -> list[dict[str, Any]]:
            found = doors.builds.list_builds()
            doors.store.create("builds/mesh/000001.json", b"theirs")
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(doors.builds, name)

    assert build(asked(), replace(doors, builds=Racing())).tag == "mesh-v2"


def test_progress_is_told_in_order(asked: Asked, doors: Doors) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    build(asked(), doors, lambda event, **details: seen.append((event, details)))

    events = list(dict.fromkeys(event for event, _ in seen))
    assert events == ["frozen", "reserved", "pack", "upload", "status"]
    frozen = seen[0][1]
    assert (frozen["files"], frozen["largest"][0][0]) == (2, "Dockerfile")


def test_a_build_without_git_says_that_it_does_not_know(asked: Asked, doors: Doors) -> None:
    doors.shell.code = 128

    built = build(asked(), doors)

    assert (built.commit, built.dirty) == (None, None)


def test_changes_that_are_not_committed_are_recorded(asked: Asked, doors: Doors) -> None:
    doors.shell.changes = " M app\n"

    assert build(asked(), doors).dirty is True


def test_an_image_that_is_not_built_here_is_refused(asked: Asked, doors: Doors) -> None:
    request = replace(asked(), spec=Image(ref="host/x@sha256:" + "0" * 64))

    with pytest.raises(UsageError, match="not built here"):
        build(request, doors)


def test_nothing_is_reserved_for_a_context_that_cannot_be_packed(
    asked: Asked, doors: Doors, fleet: Path
) -> None:
    (fleet / "context" / "out").symlink_to("/etc/passwd")

    with pytest.raises((UsageError, Refused)):
        build(asked(), doors)

    assert states(doors) == []
