"""What is known of a fetched file: written beside it, believed while the file is unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

ENDING = ".manifest.json"


class Manifest(BaseModel):
    """One file: whence it came, what it hashed to, and by what that was proved; null is not."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: Literal["payload-manifest/v1"] = "payload-manifest/v1"
    source: str
    version: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    proved_by: str | None
    mtime_ns: int
    at: str

    def text(self) -> str:
        """As it is written."""
        return self.model_dump_json(indent=2) + "\n"


def manifest_path(file: Path) -> Path:
    """`x.gguf` -> `x.gguf.manifest.json`, in the same folder."""
    return file.with_name(f"{file.name}{ENDING}")


def read_manifest(file: Path) -> Manifest | None:
    """The manifest of a file that is as it was when that was written; None where it is not."""
    try:
        found = Manifest.model_validate_json(manifest_path(file).read_bytes())
        stat = file.stat()
    except (OSError, ValidationError):
        return None
    return found if (found.bytes, found.mtime_ns) == (stat.st_size, stat.st_mtime_ns) else None
