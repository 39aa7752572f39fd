"""`meshctl payload publish` as a process: killed, run again, and by the fleet file alone."""

from __future__ import annotations

import hashlib
import json
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from meshctl.outside.objects_s3 import s3_client
from meshctl.payloads.outgoing import LEAST
from meshctl.ui.payloads import PayloadPublish
from tests.contract.payloads.commands import answer, run, start
from tests.fakes.buckets import KEYS, s3_server
from tests.fakes.stalling_line import StallingLine

FLEET = """
meshctl: 1
fleet: tiny
targets: {local: {kind: cloudrun, project: local, region: local1}}
images: {mesh: {ref: "example.org/mesh@sha256:%s"}}
payloads: {qwen: {source: "r2://%s/qwen", format: opaque, parameters: 100, files: %s}}
services: {}
"""
R2 = {"R2_ACCESS_KEY_ID": "test", "R2_SECRET_ACCESS_KEY": "test"}


@dataclass(frozen=True)
class Bucket:
    """A bucket of this test alone: every server of this process has the same ones."""

    url: str
    name: str

    def stored(self, key: str) -> bytes:
        return bytes(self._client().get_object(Bucket=self.name, Key=key)["Body"].read())

    def count(self) -> int:
        return int(self._client().list_objects_v2(Bucket=self.name)["KeyCount"])

    def _client(self) -> Any:
        return s3_client(self.url, "us-east-1", ("test", "test"))


@pytest.fixture
def s3() -> Iterator[Bucket]:
    name = f"models-{uuid4().hex}"
    with s3_server(name) as url:
        yield Bucket(url, name)


def aws(url: str) -> dict[str, str]:
    return {**KEYS, "AWS_ENDPOINT_URL_S3": url, "AWS_REGION": "us-east-1"}


def test_a_publication_that_was_killed_goes_on_in_another_process(
    s3: Bucket, tmp_path: Path
) -> None:
    """Four parts are under way at once: of 44 MiB that went through, one part or more is whole."""
    data = random.Random(5).randbytes(2**20) * 64
    (tmp_path / "m.knot").write_bytes(data)
    words = ("payload", "publish", "m.knot", "--to", f"s3://{s3.name}/qwen")
    with StallingLine(s3.url, carries=44 * 2**20) as line:
        killed = start(tmp_path, *words, **aws(line.url))
        assert line.stalled.wait(120), killed.communicate()
        killed.send_signal(signal.SIGKILL)
        killed.communicate()

    found = answer(tmp_path, *words[1:], **aws(s3.url))

    (row,) = found["files"]
    assert PayloadPublish.model_validate(found).data() == found
    assert row["resumed"] >= LEAST and row["sent"] + row["resumed"] == len(data)
    assert s3.stored("qwen/m.knot") == data
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == ["m.knot"]


def test_a_payload_of_the_fleet_goes_to_its_source_and_can_be_fetched_from_there(
    s3: Bucket, tmp_path: Path
) -> None:
    files = {"a.knot": b"weights of a" * 99, "sub/b.knot": b"weights of b" * 99}
    declared = {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    }
    (tmp_path / "meshctl.yaml").write_text(FLEET % ("2" * 64, s3.name, json.dumps(declared)))
    for name, data in files.items():
        path = tmp_path / "models/qwen" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    r2 = {**R2, "MESHCTL_R2_ENDPOINT": s3.url}

    published = answer(tmp_path, "publish", "qwen", "--at", "models", **r2)["files"]
    fetched = answer(tmp_path, "fetch", "qwen", "--to", "there", **r2)["files"]

    assert [row["to"] for row in published] == [f"r2://{s3.name}/qwen/{name}" for name in files]
    assert all(row["proved"] for row in fetched)
    assert all((tmp_path / "there/qwen" / name).read_bytes() == files[name] for name in files)


def test_a_file_that_is_not_what_the_fleet_declares_is_not_published(
    s3: Bucket, tmp_path: Path
) -> None:
    declared = {"a.knot": {"bytes": 7, "sha256": hashlib.sha256(b"weights").hexdigest()}}
    (tmp_path / "meshctl.yaml").write_text(FLEET % ("2" * 64, s3.name, json.dumps(declared)))
    (tmp_path / "qwen").mkdir()
    (tmp_path / "qwen/a.knot").write_bytes(b"weighty")

    refused = answer(tmp_path, "publish", "qwen", code=9, **R2, MESHCTL_R2_ENDPOINT=s3.url)

    assert "not what it should be" in refused["message"]
    assert s3.count() == 0


@pytest.mark.parametrize(
    ("to", "said"),
    [("gs://models/qwen", "if-generation-match=0"), ("s3://models/../x", "BUCKET"), ("", "--to")],
)
def test_what_is_no_bucket_to_publish_to_is_refused_by_name(
    to: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "m.knot").write_bytes(b"weights")
    where = ("--to", to) if to else ()

    refused = answer(tmp_path, "publish", "m.knot", *where, code=64)

    assert said in refused["hint"] and refused["message"]


def test_a_publication_tells_in_80_columns_what_it_did(s3: Bucket, tmp_path: Path) -> None:
    (tmp_path / "m.knot").write_bytes(b"weights" * 99)

    words = ("payload", "publish", "m.knot", "--to", f"s3://{s3.name}")
    code, out, err = run(tmp_path, *words, **aws(s3.url))

    assert (code, err) == (0, ""), err
    assert max(map(len, out.splitlines()[1:])) <= 80 and "read back whole" in out
