"""What is in a frozen context, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from meshctl.build.context import Context, freeze, hashed
from meshctl.errors import CheckFailed, UsageError
from meshctl.spec.model import Payload

OWN = {"app/meshctl": "package:meshctl"}


def frozen(folder: Path, include: dict[str, str] | None = None, **payloads: Payload) -> Context:
    return freeze(folder, include or {}, payloads, "images.mesh")


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_the_list_is_sorted_and_leaves_out_what_is_ignored(tmp_path: Path) -> None:
    written(tmp_path, b="2", a="1", noise="x")
    (tmp_path / ".gitignore").write_text("noise\n")

    context = frozen(tmp_path)

    assert [entry.path for entry in context.entries] == ["a", "b"]


def test_folders_of_meshctl_are_left_out_at_any_depth(tmp_path: Path) -> None:
    for folder in (tmp_path / ".meshctl" / "state", tmp_path / "deep" / ".meshctl"):
        folder.mkdir(parents=True)
        written(folder, noise="x")
    written(tmp_path, kept="1")

    context = frozen(tmp_path)

    assert [entry.path for entry in context.entries] == ["kept"]


def test_state_that_is_the_context_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="among the files that are to be built"):
        freeze(tmp_path, {}, {}, "images.mesh", exclude=(tmp_path,))


def test_the_largest_paths_come_first(tmp_path: Path) -> None:
    written(tmp_path, small="1", large="12345", middle="123")

    context = frozen(tmp_path)

    assert context.largest(2) == [("large", 5), ("middle", 3)]
    assert context.bytes == 9


def test_the_digest_covers_path_mode_and_content(tmp_path: Path) -> None:
    before = hashed(frozen(written(tmp_path, a="1"))).digest

    written(tmp_path, a="2")
    content = hashed(frozen(tmp_path)).digest
    written(tmp_path, a="1")
    (tmp_path / "a").chmod(0o755)
    mode = hashed(frozen(tmp_path)).digest
    (tmp_path / "a").chmod(0o644)
    (tmp_path / "a").rename(tmp_path / "b")
    name = hashed(frozen(tmp_path)).digest

    assert len({before, content, mode, name}) == 4


def test_the_digest_does_not_depend_on_time(tmp_path: Path) -> None:
    before = hashed(frozen(written(tmp_path, a="1"))).digest

    os.utime(tmp_path / "a", ns=(0, 0))

    assert hashed(frozen(tmp_path)).digest == before


def test_our_own_package_is_included_without_compiled_files(tmp_path: Path) -> None:
    context = frozen(tmp_path, OWN)

    paths = {entry.path for entry in context.entries}
    assert {"app/meshctl/__init__.py", "app/meshctl/build/context.py"} <= paths
    assert not [path for path in paths if "__pycache__" in path or path.endswith(".pyc")]


def test_two_files_of_one_path_are_refused(tmp_path: Path) -> None:
    (tmp_path / "app" / "meshctl").mkdir(parents=True)
    (tmp_path / "app" / "meshctl" / "__init__.py").touch()

    with pytest.raises(UsageError, match=r"app/meshctl/__init__\.py is in the context twice"):
        frozen(tmp_path, OWN)


def test_a_file_where_an_include_needs_a_folder_is_refused(tmp_path: Path) -> None:
    written(tmp_path, app="a file")

    with pytest.raises(UsageError, match="app is in the context twice"):
        frozen(tmp_path, OWN)


@pytest.mark.parametrize("path", ["../app", "/app", "app//x", ".", ""])
def test_an_include_outside_the_context_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError, match="not a path inside the context") as refused:
        frozen(tmp_path, {path: "package:meshctl"})

    assert refused.value.place == f"images.mesh.build.include.{path}"


@pytest.mark.parametrize("source", ["payload:unknown", "https://x/y", "meshctl"])
def test_an_include_from_elsewhere_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(UsageError, match="cannot be included"):
        frozen(tmp_path, {"app": source})


def test_an_included_payload_is_recorded_with_its_proof(tmp_path: Path) -> None:
    size, sha256 = measured("meshctl/__main__.py")
    payload = Payload(
        source="package:meshctl", files={"__main__.py": {"bytes": size, "sha256": sha256}}
    )

    contents = hashed(frozen(tmp_path, {"models/own": "payload:own"} | OWN, own=payload))

    proof = contents.files["models/own/__main__.py"]
    assert (proof.bytes, proof.sha256) == (size, sha256)
    assert len(contents.files) == 1


def test_a_payload_that_is_not_what_it_declares_is_refused(tmp_path: Path) -> None:
    size, _ = measured("meshctl/__main__.py")
    payload = Payload(
        source="package:meshctl", files={"__main__.py": {"bytes": size, "sha256": "0" * 64}}
    )

    with pytest.raises(CheckFailed, match=r"__main__\.py"):
        frozen(tmp_path, {"models/own": "payload:own"}, own=payload)


def measured(path: str) -> tuple[int, str]:
    import hashlib

    data = (Path(__file__).parents[3] / path).read_bytes()
    return len(data), hashlib.sha256(data).hexdigest()
