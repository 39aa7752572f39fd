"""The registry: blobs by digest, and per repository its tags and digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from meshctl.emulator import disk
from meshctl.emulator.images import reference

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


class Registry:
    """An OCI layout (blobs/sha256) and a table of tags beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.blobs = folder / "blobs" / "sha256"
        self.blobs.mkdir(parents=True, exist_ok=True)
        disk.write_json(folder / "oci-layout", {"imageLayoutVersion": "1.0.0"})
        self._table: dict[str, dict[str, Any]] = disk.read_json(folder / "tags.json", {})

    def blob(self, digest: str) -> Path:
        """Where a blob lies."""
        return self.blobs / digest.removeprefix("sha256:")

    def put_blob(self, data: bytes) -> str:
        """Store small bytes; the digest."""
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        if not self.blob(digest).exists():
            disk.write_bytes(self.blob(digest), data)
        return digest

    def put_image(self, config: dict[str, Any], layers: Iterable[tuple[str, int]]) -> str:
        """Store config and manifest of layers (digest, bytes) already here; manifest digest."""
        rows = list(layers)
        rootfs = {"type": "layers", "diff_ids": [digest for digest, _ in rows]}
        body = _dump({"architecture": "amd64", "os": "linux", "config": config, "rootfs": rootfs})
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": self.put_blob(body), "size": len(body)},
            "layers": [{"mediaType": LAYER, "digest": d, "size": size} for d, size in rows],
        }
        return self.put_blob(_dump(manifest))

    def push(self, repository: str, tag: str | None, digest: str) -> None:
        """Make an image known in a repository, under a tag when given."""
        row = self._table.setdefault(repository, {"tags": {}, "digests": []})
        if digest not in row["digests"]:
            row["digests"].append(digest)
        if tag:
            row["tags"][tag] = digest
        disk.write_json(self._folder / "tags.json", self._table)

    def resolve(self, text: str) -> str | None:
        """The digest a reference means now, None where there is no such image."""
        ref = reference.parse(text)
        row = self._table.get(ref.repository) if ref else None
        if ref is None or row is None:
            return None
        if ref.digest:
            return ref.digest if ref.digest in row["digests"] else None
        found: str | None = row["tags"].get(ref.tag)
        return found

    def manifest(self, digest: str) -> dict[str, Any]:
        """The manifest of an image that is here."""
        value: dict[str, Any] = json.loads(self.blob(digest).read_bytes())
        return value

    def config(self, digest: str) -> dict[str, Any]:
        """The `config` part of an image's configuration: Env, Entrypoint, Cmd, WorkingDir."""
        body = json.loads(self.blob(self.manifest(digest)["config"]["digest"]).read_bytes())
        config: dict[str, Any] = body["config"]
        return config

    def listing(self) -> list[dict[str, Any]]:
        """Every repository with its tags and digests."""
        return [{"name": name, **row} for name, row in sorted(self._table.items())]
