"""A small file written on a host, as one script: whole or not at all, and only over what was known.

The script is on the command line, for standard input has the data: the file's, and nobody else's
business. A sum says whether all of it came; who is at work in the same folder waits for the other.
"""

from __future__ import annotations

import re
from hashlib import sha256

from meshctl.errors import Refused, Unreachable
from meshctl.outside.shell import Result
from meshctl.outside.ssh_sessions import Command

NOTHING = "nothing"
OTHER, CUT, UNWRITTEN = 76, 65, 74
"""Exit codes of the script; the names of sysexits(3) are near enough."""

_SCRIPT = (
    "path=$1 mode=$2 new=$3 replaces=$4; folder=${path%/*}/; "
    'fail() { echo "$2" >&2; exit "$1"; }; '
    "sum() { sha256sum | cut -c 1-64; }; "
    'cd -- "$folder" || fail 74 "its folder is not there"; '
    'exec 9<. && flock 9 || fail 74 "its folder cannot be locked"; '
    "name=./${path##*/}; "
    'if [ -L "$name" ]; then now="a link"; elif [ -f "$name" ]; then now=$(sum <"$name"); '
    'elif [ -e "$name" ]; then now="no file"; else now=nothing; fi; '
    'if [ "$now" = "$new" ]; then chmod "$mode" "$name" || fail 74 "its mode cannot be set"; '
    "exit 0; fi; "
    '[ "$now" = "$replaces" ] || { echo; echo "$now"; exit 76; }; '
    'draft=$(mktemp ./.meshctl.XXXXXXXX) || fail 74 "its folder cannot be written to"; '
    "trap 'rm -f \"$draft\"' EXIT; trap 'exit 74' HUP INT TERM; "
    'cat >"$draft" && chmod "$mode" "$draft" && sync "$draft" || fail 74 "it cannot be written"; '
    '[ "$(sum <"$draft")" = "$new" ] || fail 65 "it did not come whole"; '
    'mv -fT "$draft" "$name" && sync . || fail 74 "it cannot be put in its place"'
)


def writing(path: str, data: bytes, mode: int, replaces: str | None) -> Command:
    """The command. Raises ValueError for a path that is not absolute or names no file, a mode or a
    sum that is none: those come from our own code."""
    if not path.startswith("/") or path.endswith(("/", "/.", "/..")) or "\0" in path:
        raise ValueError(f"not the absolute path of a file: {path!r}")
    if not 0 <= mode <= 0o7777 or not re.fullmatch(r"[0-9a-f]{64}", replaces or "0" * 64):
        raise ValueError(f"no mode or no sha256: {mode:o}, {replaces!r}")
    words = (path, f"{mode:o}", sha256(data).hexdigest(), replaces or NOTHING)
    return Command(("sh", "-c", _SCRIPT, "sh", *words), data)


def refuse_unwritten(address: str, path: str, told: Result, replaces: str | None) -> None:
    """Raises Refused when nothing was written, and Unreachable when that is not known."""
    if told.ok:
        return
    if told.code in (124, 137):
        raise Unreachable(
            f"whether {path} was written on {address} is not known: {last_line(told.err)}",
            hint=f"look: `ssh {address} ls -l {path}`, and run it again",
            place=address,
        )
    if told.code == OTHER:
        now, known = last_line(told.out), replaces or NOTHING
        raise Refused(
            f"{path} on {address} is not what was read before: there is {now}, and not {known}",
            hint="somebody else wrote it: look at it, and run the command again",
            place=address,
        )
    raise Refused(
        f"{path} on {address} was not written: {last_line(told.err) or f'exit code {told.code}'}",
        hint=f"look at the folder and its disk: `ssh {address} df -h`",
        place=address,
    )


def last_line(text: str) -> str:
    """What matters of what a host says, for a terminal: a shell's own start may have spoken
    before."""
    line = (text.strip().splitlines() or [""])[-1]
    return "".join(char for char in line if char.isprintable())[:300]
