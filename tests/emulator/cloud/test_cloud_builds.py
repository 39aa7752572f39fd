"""Cloud Build through the real client: sources, steps, substitutions, images, failures, logs."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud.devtools import cloudbuild_v1

from tests.emulator.cloud.embedded import APP, DOCKERFILE, FAST, ask, eventually

Status = cloudbuild_v1.Build.Status
Step = cloudbuild_v1.BuildStep


def bash(text: str, **more: Any) -> Any:
    return Step(name="bash", args=["-c", text], **more)


def failed(cloud: Any, *steps: Any, **fields: Any) -> Any:
    """The build as recorded after it has failed."""
    build = cloudbuild_v1.Build(steps=list(steps), **fields)
    operation = cloud.builds.create_build(project_id="p", build=build, retry=None)
    with pytest.raises(exceptions.GoogleAPICallError):
        operation.result(timeout=30, polling=FAST)
    return cloud.builds.get_build(project_id="p", id=operation.metadata.build.id)


def log(cloud: Any, build: Any) -> str:
    bucket = cloud.storage.bucket(build.logs_bucket.removeprefix("gs://"))
    return str(bucket.blob(f"log-{build.id}.txt").download_as_text())


def test_the_same_context_gives_the_same_digest(cloud: Any) -> None:
    one = cloud.build("repo/same:one")
    two = cloud.build("repo/same:two")
    other = cloud.build("repo/same:three", {"app.py": APP + "#", "Dockerfile": DOCKERFILE})

    digests = [b.results.images[0].digest for b in (one, two, other)]

    assert digests[0] == digests[1] != digests[2]
    rows = cloud.call("GET", "/emulator/images")[1]["repositories"]
    tags = next(row for row in rows if row["name"] == "repo/same")["tags"]
    assert tags["one"] == tags["two"] == digests[0]


def test_a_service_runs_an_image_by_digest(cloud: Any) -> None:
    digest = cloud.build("repo/digest:v1").results.images[0].digest

    service = cloud.create("chat", cloud.template(image=f"repo/digest@{digest}"))

    assert ask(service.uri)["env"]["FROM_IMAGE"] == "yes"


def test_equal_files_are_kept_once_in_a_layer(cloud: Any) -> None:
    big = b"x" * 300_000
    files = {
        "a.so": big,
        "b.so": ("link", "a.so"),
        "c.so": big,
        "Dockerfile": "FROM scratch\n"
        'COPY a.so b.so c.so /lib/\nCOPY app.py /app.py\nENTRYPOINT ["/app.py"]\n',
        "app.py": APP,
    }

    build = cloud.build("repo/links:v1", files)

    service = cloud.create("chat", cloud.template(image="repo/links:v1"))
    root = cloud.data / "roots" / build.results.images[0].digest.removeprefix("sha256:")
    nodes = {(root / "lib" / name).stat().st_ino for name in ("a.so", "b.so", "c.so")}
    assert ask(service.uri)["cwd"] == str(root)
    assert len(nodes) == 1


def test_an_instruction_outside_the_subset_is_named(cloud: Any) -> None:
    source = cloud.source({"Dockerfile": "FROM scratch\n\nRUN echo hello\n"}, "run.tgz")
    step = Step(name="gcr.io/cloud-builders/docker", args=["build", "-t", "repo/x:1", "."])

    build = failed(cloud, step, source=source)

    assert build.status == Status.FAILURE
    assert "Dockerfile:3: RUN echo hello: unsupported instruction" in build.status_detail
    assert build.failure_info.type_ == cloudbuild_v1.Build.FailureInfo.FailureType.USER_BUILD_STEP


def test_copy_from_outside_the_context_fails(cloud: Any) -> None:
    source = cloud.source({"Dockerfile": "FROM scratch\nCOPY ../../x /x\n"}, "copy.tgz")
    step = Step(name="gcr.io/cloud-builders/docker", args=["build", "-t", "repo/x:1", "."])

    build = failed(cloud, step, source=source)

    assert "Dockerfile:2: COPY" in build.status_detail


def test_build_arguments_and_other_dockerfiles_are_honoured(cloud: Any) -> None:
    files = {
        "app.py": APP,
        "docker/mesh.Dockerfile": "FROM scratch\nARG WHO=nobody\nARG MORE=d\n"
        "COPY *.py /srv/\nENV WHO=$WHO MORE=${MORE}\n"
        'WORKDIR /srv\nENTRYPOINT ["./app.py"]\n',
    }
    args = [
        "build",
        "-t",
        "repo/args:v1",
        "-f",
        "docker/mesh.Dockerfile",
        "--no-cache",
        "--build-arg",
        "WHO=mesh",
        ".",
    ]
    step = Step(name="gcr.io/cloud-builders/docker", args=args)

    cloud.build("repo/args:v1", files, steps=[step])

    env = ask(cloud.create("chat", cloud.template(image="repo/args:v1")).uri)["env"]
    assert (env["WHO"], env["MORE"]) == ("mesh", "d")


def test_steps_run_in_order_with_env_dir_and_substitutions(cloud: Any) -> None:
    steps = [
        bash("echo $_WHO-$PROJECT_ID-$$MODE > out", dir="sub", env=["MODE=${_WHO}1"], id="one"),
        Step(name="ubuntu", entrypoint="cat", args=["/workspace/sub/out"]),
        Step(name="python:3.11", args=["python", "-c", "print('py ok')"]),
    ]

    build = cloud.submit(cloudbuild_v1.Build(steps=steps, substitutions={"_WHO": "me"}))

    assert build.status == Status.SUCCESS
    assert [s.status for s in build.steps] == [Status.SUCCESS] * 3
    assert "me-p-me1" in log(cloud, build) and "py ok" in log(cloud, build)
    assert build.steps[0].timing.end_time >= build.steps[0].timing.start_time


def test_unmatched_substitutions_are_refused_unless_loose(cloud: Any) -> None:
    unused = cloudbuild_v1.Build(steps=[bash("true")], substitutions={"_WHO": "me"})
    missing = cloudbuild_v1.Build(steps=[bash("echo $_WHO")])
    loose = cloudbuild_v1.Build(
        steps=[bash("echo [$_WHO]")],
        substitutions={"_MORE": "x"},
        options={"substitution_option": "ALLOW_LOOSE"},
    )

    for build in (unused, missing):
        with pytest.raises(exceptions.BadRequest, match="not matched"):
            cloud.submit(build)

    assert "[]" in log(cloud, cloud.submit(loose))


def test_a_failing_step_ends_the_build(cloud: Any) -> None:
    build = failed(cloud, bash("echo before; exit 3", id="boom"), bash("echo never"))

    assert build.status == Status.FAILURE
    assert build.steps[0].exit_code == 3
    assert [s.status for s in build.steps] == [Status.FAILURE, Status.STATUS_UNKNOWN]
    assert "non-zero status: 3" in build.failure_info.detail
    assert "before" in log(cloud, build) and "never" not in log(cloud, build)


def test_an_unknown_builder_fails_like_an_image_that_cannot_be_pulled(cloud: Any) -> None:
    build = failed(cloud, Step(name="gcr.io/nobody/nothing"))

    assert build.status == Status.FAILURE
    assert 'error pulling image "gcr.io/nobody/nothing"' in build.status_detail


def test_a_build_over_its_timeout_times_out(cloud: Any) -> None:
    build = failed(cloud, bash("sleep 30"), timeout="1s")

    assert build.status == Status.TIMEOUT


def test_a_build_can_be_cancelled(cloud: Any) -> None:
    wanted = cloudbuild_v1.Build(steps=[bash("sleep 30")])
    operation = cloud.builds.create_build(project_id="p", build=wanted, retry=None)

    build = cloud.builds.cancel_build(project_id="p", id=operation.metadata.build.id)

    assert build.status == Status.CANCELLED


def test_an_image_that_no_step_made_fails_the_push(cloud: Any) -> None:
    build = failed(cloud, bash("true"), images=["repo/never:v1"])

    kind = cloudbuild_v1.Build.FailureInfo.FailureType.PUSH_IMAGE_NOT_FOUND
    assert build.failure_info.type_ == kind


def test_a_source_that_is_gone_or_hostile_fails_the_fetch(cloud: Any) -> None:
    kind = cloudbuild_v1.Build.FailureInfo.FailureType.FETCH_SOURCE_FAILED
    gone = cloud.source({"a": "1"}, "gone.tgz")
    gone.storage_source.generation += 1
    hostile = cloud.source({"../evil": "1"}, "hostile.tgz")

    builds = [failed(cloud, bash("true"), source=source) for source in (gone, hostile)]

    assert [b.failure_info.type_ for b in builds] == [kind, kind]


def test_builds_are_listed_newest_first_and_by_region(cloud: Any) -> None:
    request = cloudbuild_v1.CreateBuildRequest(
        parent="projects/p/locations/r1",
        project_id="p",
        build=cloudbuild_v1.Build(steps=[bash("true")]),
    )
    ids = []
    for _ in range(2):
        operation = cloud.builds.create_build(request, retry=None)
        ids.append(operation.result(timeout=30, polling=FAST).id)

    listed = cloudbuild_v1.ListBuildsRequest(
        project_id="p", parent="projects/p/locations/r1", page_size=1
    )
    got = cloudbuild_v1.GetBuildRequest(
        project_id="p", id=ids[0], name=f"projects/p/locations/r1/builds/{ids[0]}"
    )

    assert [b.id for b in cloud.builds.list_builds(listed)] == ids[::-1]
    assert cloud.builds.get_build(got).status == Status.SUCCESS


def test_the_log_grows_while_the_build_runs(cloud: Any) -> None:
    wanted = cloudbuild_v1.Build(steps=[bash("echo first; sleep 20")])
    operation = cloud.builds.create_build(project_id="p", build=wanted, retry=None)
    build = cloud.builds.get_build(project_id="p", id=operation.metadata.build.id)

    bucket = cloud.storage.bucket("p_cloudbuild-logs")
    eventually(lambda: bucket.blob(f"log-{build.id}.txt").exists())
    eventually(lambda: "first" in log(cloud, build))

    cloud.builds.cancel_build(project_id="p", id=build.id)


def test_ignored_files_do_not_exist_for_copy(cloud: Any) -> None:
    files = {
        "app.py": APP,
        "keep/a.txt": "a",
        "keep/b.log": "b",
        ".dockerignore": "**/*.log\n.dockerignore\nDockerfile\n",
        "Dockerfile": 'FROM scratch\nCOPY . /\nENTRYPOINT ["/app.py"]\n',
    }

    build = cloud.build("repo/ignore:v1", files)

    cloud.create("chat", cloud.template(image="repo/ignore:v1"))
    root = cloud.data / "roots" / build.results.images[0].digest.removeprefix("sha256:")
    found = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
    assert found == ["app.py", "keep/a.txt"]


def test_a_step_that_may_fail_does_not_end_the_build(cloud: Any) -> None:
    steps = [bash("exit 4", allow_failure=True), bash("echo after")]

    build = cloud.submit(cloudbuild_v1.Build(steps=steps))

    assert build.status == Status.SUCCESS
    assert "after" in log(cloud, build)
