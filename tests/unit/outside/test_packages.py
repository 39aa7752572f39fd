"""Files of installed distributions."""

from __future__ import annotations

import pytest

from meshctl.errors import UsageError
from meshctl.outside.packages import files_of, folder_of


def test_a_distributions_files_are_there_and_free_of_the_installers_notes() -> None:
    files = files_of("pathspec")

    assert all(path.is_file() for _, path in files)
    tops = {name.split("/")[0] for name, _ in files}
    assert tops == {"pathspec"}


def test_a_folder_is_taken_out_of_its_distribution() -> None:
    files = dict(folder_of("package:pathspec/pathspec/patterns"))

    assert "__init__.py" in files
    assert files["__init__.py"].parts[-2:] == ("patterns", "__init__.py")


def test_a_folder_is_not_the_beginning_of_a_name() -> None:
    with pytest.raises(UsageError, match="has no files in pathspec/pat"):
        folder_of("package:pathspec/pathspec/pat")


def test_our_own_package_is_taken_from_where_it_runs() -> None:
    files = dict(folder_of("package:meshctl"))

    assert {"__init__.py", "outside/packages.py"} <= set(files)
    assert not [name for name in files if "__pycache__" in name]


@pytest.mark.parametrize("name", ["no-such-distribution", "not a name", ""])
def test_a_distribution_that_is_not_installed_says_how_to_install_it(name: str) -> None:
    with pytest.raises(UsageError, match="not installed") as refused:
        folder_of(f"package:{name}")

    assert "pip install" in refused.value.hint
