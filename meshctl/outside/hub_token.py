"""Finds the token of the hub: in the environment, a file of one's own, or the stored login.

It is never taken from a command line, which everybody on the machine can read in /proc.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from meshctl.errors import Refused
from meshctl.secret import Secret

_YES = ("1", "ON", "YES", "TRUE")
LONGEST_TOKEN = 4096
"""Bytes read of a token's file: whatever is longer is no token."""


def hub_token(environ: Mapping[str, str]) -> Secret | None:
    """HF_TOKEN, else the file that HF_TOKEN_PATH names, else the login that `hf auth login` stored.

    None where there is none, or HF_HUB_DISABLE_IMPLICIT_TOKEN says to go without. Raises Refused
    for a named file that others may read.
    """
    if environ.get("HF_HUB_DISABLE_IMPLICIT_TOKEN", "").upper() in _YES:
        return None
    if value := environ.get("HF_TOKEN", "").strip():
        return Secret(value)
    if named := environ.get("HF_TOKEN_PATH"):
        return _read(Path(named), own=True)
    home = environ.get("HF_HOME") or (
        f"{h}/.cache/huggingface" if (h := environ.get("HOME")) else ""
    )
    return _read(Path(home) / "token", own=False) if home else None


def _read(path: Path, *, own: bool) -> Secret | None:
    try:
        with path.open("rb") as file:
            if own and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise Refused(
                    "others on this machine may read the file of the token",
                    place=str(path),
                    hint=f"`chmod 600 {path}`",
                )
            value = file.read(LONGEST_TOKEN).decode("ascii", "replace").strip()
    except OSError as error:
        if not own:
            return None
        raise Refused(
            f"the file of the token cannot be read: {error.strerror}",
            place=str(path),
            hint="correct HF_TOKEN_PATH, or unset it",
        ) from error
    return Secret(value) if value else None
