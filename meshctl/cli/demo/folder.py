"""The demo's private folder: a fleet, the context of its image, and what the cloud remembers."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from meshctl.cli.share import share_dir
from meshctl.cli.world import LOCAL

HERE = Path(__file__).parent
RECIPE = "mesh-image.yaml"

Change = Mapping[str, Any]
"""Keys of the fleet file by their dotted path, and what they are set to."""

BASE: Change = {"services.chat.rollout.token_deadline": "3s"}
"""What the demo changes in configs/local.yaml: a wedged engine is found out in seconds."""


@dataclass(frozen=True)
class Folder:
    """`fleet/meshctl.yaml` with `fleet/.meshctl` beside it, and `cloudbuild` next to both."""

    root: Path

    @property
    def fleet(self) -> Path:
        return self.root / "fleet" / "meshctl.yaml"

    @property
    def state(self) -> Path:
        return self.fleet.parent / LOCAL / "state"

    @property
    def cloud(self) -> Path:
        return self.fleet.parent / LOCAL / "emulator"

    @property
    def context(self) -> Path:
        return self.root / "cloudbuild" / "local"

    def log(self, number: int) -> Path:
        """Where the output of a command goes."""
        return self.root / "output" / f"{number:02}.log"

    def furnish(self) -> None:
        """Copy the local fleet and the context of its image from what comes with meshctl."""
        shutil.copytree(share_dir("cloudbuild") / "local", self.context)
        shutil.copy(share_dir("cloudbuild") / RECIPE, self.root / "cloudbuild" / RECIPE)
        self.fleet.parent.mkdir()
        self.declare({})

    def declare(self, change: Change) -> None:
        """Write the fleet file anew: the local fleet with this change and no other."""
        tree = yaml.safe_load((share_dir("configs") / "local.yaml").read_text(encoding="utf-8"))
        text = yaml.safe_dump(changed(tree, {**BASE, **change}), sort_keys=False)
        self.fleet.write_text(text, encoding="utf-8")

    def wedge(self) -> None:
        """Put the engine that never sends a token into the context, beside the program."""
        (self.context / "app").mkdir(exist_ok=True)
        shutil.copy(HERE / "wedged-engine", self.context / "app" / "wedged-engine")


def changed(tree: dict[str, Any], change: Change) -> dict[str, Any]:
    """The tree with each dotted path set, written into `tree` itself."""
    for path, value in change.items():
        *above, last = path.split(".")
        node = tree
        for key in above:
            node = node.setdefault(key, {})
        node[last] = value
    return tree


@contextlib.contextmanager
def private_folder() -> Iterator[Folder]:
    """A fresh temporary folder, gone with all that is in it when the block ends."""
    folder = Folder(Path(tempfile.mkdtemp(prefix="meshctl-demo-")))
    try:
        folder.furnish()
        yield folder
    finally:
        shutil.rmtree(folder.root)
