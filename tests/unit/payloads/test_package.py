"""Proving a payload that stands in an installed distribution."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import meshctl
from meshctl.errors import CheckFailed, UsageError
from meshctl.payloads.package import prove
from meshctl.spec.model import Payload

FILE = Path(meshctl.__file__).parent / "build" / "context.py"
SIZE = FILE.stat().st_size
SHA256 = hashlib.sha256(FILE.read_bytes()).hexdigest()


def payload(
    source: str = "package:meshctl", name: str = "build/context.py", **file: Any
) -> Payload:
    proof = {"bytes": SIZE, "sha256": SHA256} | file
    return Payload(source=source, files={name: proof})


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("package:meshctl", "build/context.py"),
        ("package:meshctl/build", "context.py"),
        ("package:meshctl", "context.py"),
    ],
)
def test_a_file_is_found_by_its_path_or_the_end_of_it(source: str, name: str) -> None:
    assert prove(payload(source, name), "own") == {name: FILE}


def test_another_size_names_file_expected_and_found() -> None:
    with pytest.raises(CheckFailed) as failed:
        prove(payload(bytes=SIZE + 1), "own")

    assert f"expected {SIZE + 1} bytes" in failed.value.message
    assert f"found {SIZE} bytes" in failed.value.message
    assert failed.value.place == "payloads.own.files.build/context.py"


def test_another_digest_names_file_expected_and_found() -> None:
    with pytest.raises(CheckFailed) as failed:
        prove(payload(sha256="0" * 64), "own")

    assert "build/context.py: expected sha256 000" in failed.value.message
    assert SHA256 in failed.value.message


def test_a_name_of_several_files_is_refused() -> None:
    with pytest.raises(UsageError, match="must name one file"):
        prove(payload("package:pathspec", "__init__.py"), "own")


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="found none"):
        prove(payload(name="weights.gguf"), "own")


def test_a_source_that_is_no_package_is_refused() -> None:
    with pytest.raises(UsageError, match="not a package: source"):
        prove(payload("hub:org/name@" + "0" * 40), "own")
