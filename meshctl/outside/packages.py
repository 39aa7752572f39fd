"""Finds the files of installed Python distributions, our own package among them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import meshctl
from meshctl.errors import UsageError

SCHEME = "package:"
OWN = "meshctl"
_NOT_CONTENT = (".pyc", ".pyo")

Files = list[tuple[str, Path]]
"""Relative posix path, and where the file is; sorted by path."""


def files_of(distribution: str) -> Files:
    """The files of a distribution, by their path below the folder it is installed in.

    Those of our own package go by their path below the package itself. Left out: compiled files,
    programs outside that folder and the installer's own notes, for they differ between two
    installations of the same thing. Raises UsageError when it is not installed.
    """
    if distribution == OWN:
        return sorted(_own())
    try:
        found = importlib.metadata.distribution(distribution).files or []
    except (importlib.metadata.PackageNotFoundError, ValueError) as error:
        raise _missing(distribution) from error
    paths = [(file.as_posix(), Path(str(file.locate()))) for file in found if _is_content(file)]
    return sorted(paths)


def folder_of(reference: str) -> Files:
    """The files of `package:DISTRIBUTION[/FOLDER]`, by their path below FOLDER.

    Raises UsageError when the distribution is not installed or has no such folder.
    """
    distribution, _, folder = reference.removeprefix(SCHEME).partition("/")
    prefix = f"{folder.strip('/')}/" if folder else ""
    files = files_of(distribution)
    inside = [(path.removeprefix(prefix), at) for path, at in files if path.startswith(prefix)]
    if not inside:
        folders = sorted({path.rpartition("/")[0] for path, _ in files} - {""})
        raise UsageError(
            f"{distribution} has no files in {folder or 'it'}",
            place=reference,
            hint=f"it has {', '.join(folders[:5])}" if folders else "reinstall it",
        )
    return inside


def _own() -> Iterator[tuple[str, Path]]:
    """Our own files; an editable installation does not list them."""
    home = Path(str(meshctl.__file__)).parent
    for path in home.rglob("*"):
        relative = PurePosixPath(path.relative_to(home).as_posix())
        if _is_content(relative) and path.is_file():
            yield str(relative), path


def _is_content(path: PurePosixPath) -> bool:
    notes = path.parts[0] == ".." or path.parts[0].endswith(".dist-info")
    return not notes and "__pycache__" not in path.parts and path.suffix not in _NOT_CONTENT


def _missing(distribution: str) -> UsageError:
    return UsageError(
        f"the distribution {distribution!r} is not installed",
        place=f"{SCHEME}{distribution}",
        hint=f"run `pip install 'meshctl[demo]'`, or `pip install --no-deps {distribution}`",
    )
