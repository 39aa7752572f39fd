"""The rules of the house hold, and each of them can fail."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from meshctl.errors import MeshctlError, tree

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "meshctl"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
LAYERS = (
    "cli", "ui", "observe", "bench", "rollout", "targets", "verify", "build", "plan", "budget",
    "payloads", "state", "outside", "spec", "engines", "secret", "quantities", "errors", "mesh",
    "emulator",
)  # fmt: skip
BREACHES = [
    ("The import law", "state", "import meshctl.plan"),
    ("The import law", "spec", "import meshctl.outside"),
    ("The mesh stands", "mesh", "import meshctl.state"),
    ("The embedded cloud", "emulator", "import meshctl.errors"),
    ("Nobody imports", "rollout", "import meshctl.emulator"),
    ("The import law", "budget", "import meshctl.plan"),
    ("Only the door", "plan", "import time"),
    ("Only the door", "budget", "import time"),
    ("Only the door", "targets", "import google"),
    ("Only ui and cli", "rollout", "import rich"),
]
FORBIDDEN_WHEN_PURE = {
    "subprocess", "socket", "time", "random", "secrets", "uuid", "asyncio", "ssl", "http",
    "urllib", "requests", "httpx", "aiohttp", "google", "boto3", "huggingface_hub", "os",
}  # fmt: skip


def skeleton(folder: Path) -> Path:
    """A package of our shape with nothing in it, and our contracts."""
    for layer in ("", *LAYERS):
        package = folder / "meshctl" / layer
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("")
    text = (ROOT / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text(text[text.index("[tool.importlinter]") :])
    return folder


def lint_imports(folder: Path) -> tuple[int, str]:
    program = "from importlinter.cli import lint_imports_command as run; run()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_an_empty_package_of_our_shape_keeps_every_contract(tmp_path: Path) -> None:
    code, said = lint_imports(skeleton(tmp_path))

    assert code == 0, said
    assert "0 broken" in said


@pytest.mark.parametrize(("contract", "package", "line"), BREACHES)
def test_a_planted_breach_breaks_its_contract(
    contract: str, package: str, line: str, tmp_path: Path
) -> None:
    folder = skeleton(tmp_path)

    (folder / "meshctl" / package / "__init__.py").write_text(f"{line}\n")

    code, said = lint_imports(folder)
    broken = [row for row in said.splitlines() if row.endswith("BROKEN")]
    assert code != 0
    assert any(row.startswith(contract) for row in broken), said


def test_every_module_says_in_its_docstring_what_it_is() -> None:
    silent = [path.name for path in MODULES if not ast.get_docstring(parsed(path))]

    assert silent == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_that_says_it_is_pure_touches_nothing_outside(path: Path) -> None:
    tree = parsed(path)
    first = (ast.get_docstring(tree) or "").split("\n\n")[0]
    if not first.replace("\n", " ").endswith("Pure."):
        return

    assert imported(tree) & FORBIDDEN_WHEN_PURE == set()


def test_the_purity_test_sees_an_import_inside_a_function() -> None:
    tree = ast.parse("def f():\n    from time import sleep\n")

    assert imported(tree) == {"time"}


def imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_the_banned_acts_are_found_by_ruff(tmp_path: Path) -> None:
    (tmp_path / "breach.py").write_text("import os\n\nprint(os.environ)\n")

    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"),
         "--select", "TID251", "--no-cache", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "os.environ" in done.stdout


@pytest.mark.parametrize("error", tree(), ids=lambda error: error.__name__)
def test_every_error_class_has_a_meaning_and_a_known_exit_code(error: type[MeshctlError]) -> None:
    assert error.meaning
    assert error.exit_code in {1, 3, 4, 5, 6, 7, 8, 9, 64, 130}
    assert (error.__doc__ or "").strip()


def test_no_package_index_is_named_in_any_file() -> None:
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "registry.npmjs" + ".org")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    texts = {name: (ROOT / name).read_text("utf-8", "replace") for name in listed
             if (ROOT / name).is_file()}  # fmt: skip

    assert [name for name, text in texts.items() if any(host in text for host in hosts)] == []
