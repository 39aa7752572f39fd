"""What every test may use: golden files, and an environment without the operator's own settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with tests/golden/NAME.golden; `--update-golden` writes it instead."""
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.golden"
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path.name} is missing: run pytest --update-golden and read it"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(autouse=True)
def no_settings_of_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """What whoever runs the tests has set for meshctl must not change what they see."""
    for name in list(os.environ):
        if name.startswith("MESHCTL_") or name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name)
