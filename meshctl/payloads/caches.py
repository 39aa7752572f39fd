"""Where tools of this machine keep what they can fetch again, by their own variables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Cache:
    """A folder of some tool. `reclaimable` is None where others may serve models out of it."""

    path: str
    reclaimable: bool | None
    why: str


def caches(environ: Mapping[str, str]) -> tuple[Cache, ...]:
    """Those of the hub's tools, of pip and of uv, there or not; none where nobody has a home."""
    home = environ.get("HOME")
    base = environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    hub = environ.get("HF_HOME") or (f"{base}/huggingface" if base else "")
    places = (
        (environ.get("HF_HUB_CACHE"), hub, "hub", None, "engines may load models out of it"),
        (environ.get("PIP_CACHE_DIR"), base, "pip", True, "`pip cache purge`"),
        (environ.get("UV_CACHE_DIR"), base, "uv", True, "`uv cache clean`"),
    )
    return tuple(
        Cache(own or str(PurePosixPath(folder) / name), reclaimable, why)
        for own, folder, name, reclaimable, why in places
        if own or folder
    )
