"""Bucket volumes and secrets: what an instance really finds where its template says."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.api_core import exceptions
from google.cloud import run_v2

from tests.emulator.cloud.embedded import PARENT, ask, eventually, fetch

SECRETS_FAILED = run_v2.Condition.CommonReason.SECRETS_ACCESS_CHECK_FAILED


@pytest.fixture
def bucket(cloud: Any) -> Any:
    name = "payloads"
    made = cloud.storage.bucket(name)
    if not made.exists():
        cloud.storage.create_bucket(name)
    for path in ("a/model.gguf", "a/deep/b.bin", "top.txt"):
        made.blob(path).upload_from_string(f"bytes of {path}", retry=None)
    return made


def mounted(cloud: Any, read_only: bool = True, bucket: str = "payloads", **fields: Any) -> Any:
    """A template with the bucket at /models, named in an argument and in the environment."""
    options = fields.pop("mount_options", [])
    source = run_v2.GCSVolumeSource(bucket=bucket, read_only=read_only, mount_options=options)
    container = {
        "volume_mounts": [run_v2.VolumeMount(name="models", mount_path="/models")],
        "args": ["-m", "/models/a/model.gguf", "gs://x/models", "/models-old"],
    }
    env = {"DIR": '{"dir": "/models"}'}
    template = cloud.template(container=container, env=env, **fields)
    template.volumes = [run_v2.Volume(name="models", gcs=source)]
    return template


def place(made: Any) -> Path:
    """Where the instance was told that its model lies."""
    return Path(ask(made.uri)["args"][1])


def test_objects_lie_where_the_arguments_and_the_environment_say(cloud: Any, bucket: Any) -> None:
    made = cloud.create("chat", mounted(cloud))

    seen = ask(made.uri)

    model = Path(seen["args"][1])
    assert model.read_text() == "bytes of a/model.gguf"
    assert (model.parent / "deep/b.bin").read_text() == "bytes of a/deep/b.bin"
    assert seen["env"]["DIR"] == f'{{"dir": "{model.parents[1]}"}}'
    assert seen["args"][2:] == ["gs://x/models", "/models-old"]
    read = cloud.get("chat").template
    assert read.containers[0].args[1] == "/models/a/model.gguf"
    assert (read.volumes[0].gcs.bucket, read.volumes[0].gcs.read_only) == ("payloads", True)


def test_what_an_instance_writes_does_not_change_the_bucket(cloud: Any, bucket: Any) -> None:
    model = place(cloud.create("chat", mounted(cloud, read_only=False)))

    model.write_text("overwritten")

    assert bucket.blob("a/model.gguf").download_as_bytes(retry=None) == b"bytes of a/model.gguf"


def test_only_one_folder_of_the_bucket_is_mounted_when_asked(cloud: Any, bucket: Any) -> None:
    template = mounted(cloud, mount_options=["implicit-dirs", "only-dir=a"])
    template.containers[0].args = ["-m", "/models/model.gguf"]

    model = place(cloud.create("chat", template))

    assert model.read_text() == "bytes of a/model.gguf"
    assert not (model.parent / "top.txt").exists()


def test_the_folder_goes_with_its_instance(cloud: Any, bucket: Any) -> None:
    model = place(cloud.create("chat", mounted(cloud)))
    assert model.exists()

    cloud.delete("chat")

    eventually(lambda: not model.parents[1].exists())


def test_a_bucket_that_does_not_exist_fails_the_revision(cloud: Any) -> None:
    with pytest.raises(exceptions.GoogleAPICallError, match="bucket 'nowhere' does not exist"):
        cloud.create("chat", mounted(cloud, bucket="nowhere"))


def changed(template: Any, **fields: Any) -> Any:
    for path, value in fields.items():
        if path == "mount_path":
            template.containers[0].volume_mounts[0].mount_path = value
        elif path == "mount":
            template.containers[0].volume_mounts[0].name = value
        elif path == "twice":
            template.containers[0].volume_mounts.append(template.containers[0].volume_mounts[0])
        elif path == "bucket":
            template.volumes[0].gcs.bucket = value
        else:
            setattr(template, path, value)
    return template


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"mount_path": "models"}, "must be an absolute path"),
        ({"mount_path": "/"}, "must be an absolute path"),
        ({"mount_path": "/a/../b"}, "must be an absolute path"),
        ({"mount_path": "/proc/models"}, "cannot be mounted over"),
        ({"mount": "other"}, "no volume 'other'"),
        ({"twice": True}, "is mounted twice"),
        ({"bucket": "gs://payloads"}, "must name a Cloud Storage bucket"),
        ({"execution_environment": 1}, "must be set to gen2"),
        ({"volumes": [run_v2.Volume(name="models")]}, "exactly one volume source"),
    ],
)
def test_a_wrong_volume_is_refused(cloud: Any, fields: dict[str, Any], text: str) -> None:
    with pytest.raises(exceptions.BadRequest, match=text):
        cloud.create("chat", changed(mounted(cloud), **fields))


def secret(cloud: Any, version: str) -> Any:
    out = cloud.template()
    ref = run_v2.SecretKeySelector(secret="rotated", version=version)
    source = run_v2.EnvVarSource(secret_key_ref=ref)
    out.containers[0].env.append(run_v2.EnvVar(name="TOKEN", value_source=source))
    return out


@pytest.fixture
def secrets(cloud: Any) -> Iterator[Callable[[dict[str, str]], None]]:
    """Sets the versions of the secret `rotated` for one test."""
    kept = cloud.call("GET", "/emulator/settings")[1]["secrets"]

    def rotate(versions: dict[str, str]) -> None:
        wanted = {"secrets": kept | {"rotated": versions}}
        assert cloud.call("PUT", "/emulator/settings", wanted)[0] == 200

    yield rotate
    cloud.call("PUT", "/emulator/settings", {"secrets": kept})


def test_latest_is_read_when_an_instance_starts_and_a_pinned_version_stays(
    cloud: Any, secrets: Callable[[dict[str, str]], None]
) -> None:
    secrets({"9": "nine", "10": "ten"})
    made = [cloud.create("a", secret(cloud, "latest")), cloud.create("b", secret(cloud, "9"))]

    def tokens() -> list[str]:
        return [ask(service.uri)["env"]["TOKEN"] for service in made]

    before = tokens()
    secrets({"9": "nine", "10": "ten", "11": "eleven"})
    running = tokens()
    for service in made:
        assert fetch(service.uri + "/die")[0] == 503

    assert before == running == ["ten", "nine"]
    assert tokens() == ["eleven", "nine"]


@pytest.mark.parametrize(
    ("name", "version", "value", "text"),
    [
        ("", "1", "", "must name a secret"),
        ("rotated", "newest", "", "is a number or latest"),
        ("rotated", "0", "", "is a number or latest"),
        ("rotated", "1", "plain", "not both"),
    ],
)
def test_a_reference_that_names_no_secret_is_refused(
    cloud: Any, name: str, version: str, value: str, text: str
) -> None:
    reference = {"secretKeyRef": {"secret": name, "version": version}}
    env = [{"name": "TOKEN", "value": value, "valueSource": reference}]
    wish = {"template": {"containers": [{"image": "repo/app:v1", "env": env}]}}

    status, answer = cloud.call("POST", f"/v2/{PARENT}/services?serviceId=chat", wish)

    assert (status, text in answer["error"]["message"]) == (400, True)


def test_latest_of_a_secret_that_is_not_there_fails_the_check_of_secrets(cloud: Any) -> None:
    with pytest.raises(exceptions.GoogleAPICallError, match="secret: rotated/versions/latest"):
        cloud.create("chat", secret(cloud, "latest"))

    assert cloud.get("chat").terminal_condition.reason == SECRETS_FAILED


@pytest.mark.parametrize("name", ["../out", "/etc", "a..", "A"])
def test_a_bucket_whose_name_is_none_is_refused(cloud: Any, name: str) -> None:
    status, answer = cloud.call("POST", "/storage/v1/b?project=p", {"name": name})

    assert (status, answer["error"]["status"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize("project", ["%2e%2e", "%2fetc", "a%2fb"])
def test_a_project_that_would_be_another_folder_is_refused(cloud: Any, project: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(cloud.url).netloc, timeout=20)

    with contextlib.closing(connection):
        connection.request("GET", f"/v2/projects/{project}/locations/l/services")
        answer = json.loads(connection.getresponse().read())

    assert answer["error"]["status"] == "INVALID_ARGUMENT"
