"""Writes a person's text file whole or not at all, and only over what was read before."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from meshctl.errors import Refused, UsageError


def read_text(path: Path) -> str | None:
    """The text as it is, line ends included; None where there is no file. Raises UsageError for
    what cannot be read, or is no UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UsageError("is not UTF-8 text", place=str(path), hint="save it as UTF-8") from error
    except OSError as error:
        raise _unusable(path, error) from error


def write_text(path: Path, text: str, *, was: str | None) -> None:
    """Put `text` in place of `was`, None where no file stood. A link stays a link, and the mode
    stays. Raises Refused when something else stands there by now."""
    path = path.resolve()
    aside = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        _write_aside(aside, text, path)
        if was is None:
            os.link(aside, path)
        elif read_text(path) == was:
            os.replace(aside, path)
        else:
            raise _changed(path)
    except FileExistsError as error:
        raise _changed(path) from error
    except OSError as error:
        raise _unusable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def _write_aside(aside: Path, text: str, like: Path) -> None:
    with aside.open("xb") as file:
        if like.exists():
            os.fchmod(file.fileno(), like.stat().st_mode & 0o777)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _changed(path: Path) -> Refused:
    return Refused(
        "the file was changed by somebody else meanwhile, and is left as it is",
        place=str(path),
        hint="type the command again",
    )


def _unusable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the file cannot be used: {error.strerror}", place=str(path), hint="name another one"
    )
