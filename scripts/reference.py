"""Writes the generated pages of docs/; with --check it only says which ones are out of date."""

from __future__ import annotations

import sys
from pathlib import Path

from meshctl.cli.reference import pages

TOP = Path(__file__).resolve().parent.parent


def main(check: bool) -> int:
    """Exit code 1 when a page is out of date and --check was given."""
    stale = {path: text for path, text in pages().items() if _read(TOP / path) != text}
    for path, text in stale.items():
        print(f"{path} is out of date" if check else f"wrote {path}")
        if not check:
            (TOP / path).write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
