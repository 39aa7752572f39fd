"""Which environment variables a fleet file may set. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meshctl.spec.model import ENV_NAME, SecretRef
from meshctl.spec.scalars import shown
from meshctl.spec.tree import Complaint

RESERVED = ("PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION")
"""Cloud Run sets these itself and refuses a release that does."""
GENERATED = {
    "MESH_CACHE": "from `cache`",
    "MESH_FEDERATION_PEERS": "from the peers that were announced",
    "MESH_MODELS": "from `models`",
    "MESH_RELEASE": "from the release itself",
}
"""meshctl writes these, and says what it makes them from."""
MOST_BYTES = 32768
"""Cloud Run's limit for one value."""


def check_env(
    env: Mapping[str, str | SecretRef], path: str = "env", free: tuple[str, ...] = ()
) -> Iterator[Complaint]:
    """What is wrong with the names and values; values are never shown, for they may be secret.
    `free` are generated ones that nothing generates here."""
    for name, value in env.items():
        here = f"{path}.{name}"
        if name not in free:
            yield from _name(here, name)
        if isinstance(value, SecretRef):
            yield from _secret(here, value)
        elif len(value.encode()) > MOST_BYTES:
            message = (
                f"the value has {len(value.encode()):,} bytes; at most {MOST_BYTES:,} are taken"
            )
            yield Complaint(here, message, "put it into a file of the image")


def _name(path: str, name: str) -> Iterator[Complaint]:
    if name in RESERVED:
        yield Complaint(path, f"{name} is set by the platform", "leave it out; the port is `port`")
    elif name in GENERATED:
        yield Complaint(path, f"{name} is generated {GENERATED[name]}", "leave it out")
    elif not ENV_NAME.fullmatch(name):
        message = f"{shown(name)} is not the name of a variable"
        yield Complaint(path, message, "letters, digits and `_`, no digit first")


def _secret(path: str, secret: SecretRef) -> Iterator[Complaint]:
    if secret.version == "latest" and not secret.allow_latest:
        message = (
            "latest may mean another value tomorrow, so a rollback would not bring this one back"
        )
        hint = "write the number of the version, or add `allow_latest: true`"
        yield Complaint(f"{path}.version", message, hint)
