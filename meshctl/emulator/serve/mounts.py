"""Where the volumes of one instance lie, and its texts with their mount paths led there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meshctl.emulator import disk


@dataclass(frozen=True)
class Mounts:
    """The place of each mount path, below one folder that goes with the instance."""

    folder: Path
    places: Mapping[str, Path]

    def moved(self, text: str) -> str:
        """The text with each mount path replaced where it stands as a path of its own.

        `/models/a.gguf` and `--dir=/models` are meant, `gs://b/models` and `/models-old` are not.
        """
        for path in sorted(self.places, key=len, reverse=True):
            whole = rf"(?<![\w./-]){re.escape(path)}(?![\w.-])"
            text = str(self.places[path]).join(re.split(whole, text))
        return text

    def remove(self) -> None:
        """The instance is gone."""
        disk.remove(self.folder)
