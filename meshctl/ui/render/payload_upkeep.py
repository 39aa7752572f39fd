"""How payloads on a disk look: what was proved, lies there, was moved or deleted. Pure."""

from __future__ import annotations

import shlex

from meshctl.payloads.purge import shown_span
from meshctl.quantities import show_bytes, show_minute
from meshctl.ui.payload_upkeep import (
    Disk,
    PayloadList,
    PayloadPurge,
    PayloadRestore,
    PayloadRetire,
    PayloadVerify,
    SpaceEntry,
    Upkeep,
)
from meshctl.ui.render.text import columns, sign, wrapped

_GO = {True: "yes", False: "no", None: "?"}


def payload_upkeep_lines(document: Upkeep, width: int) -> list[str]:
    """Whichever it is."""
    match document:
        case PayloadVerify():
            return payload_verify_lines(document, width)
        case PayloadRetire():
            return payload_retire_lines(document, width)
        case PayloadRestore():
            return payload_restore_lines(document)
        case PayloadPurge():
            return payload_purge_lines(document, width)
        case PayloadList():
            return payload_list_lines(document, width)


def payload_verify_lines(document: PayloadVerify, width: int) -> list[str]:
    """A line for each file, then what is wrong with it; sets after the files."""
    lines: list[str] = []
    for row in document.files:
        size = "?" if row.bytes is None else show_bytes(row.bytes)
        mended = ", repaired" if row.repaired else ""
        lines.append(f"{sign(row.verdict)}  {row.path}  {size}{mended}")
        lines += wrapped(f"by {row.by}", width, "    ")
        lines += wrapped(row.why, width, "    ! ") if row.why else []
    for one in document.sets:
        lines.append(f"{sign(one.verdict)}  the set of {one.path}")
        for problem in one.problems:
            lines += wrapped(problem, width, "    ! ")
    bad = sum(row.verdict != "pass" for row in document.files)
    count = len(document.files)
    said = f"all {count} files are" if not bad else f"{bad} of {count} files are not"
    return [*lines, "", f"{sign(document.verdict).rstrip()}: {said} what was declared"]


def payload_list_lines(document: PayloadList, width: int) -> list[str]:
    """The payloads of the fleet, then what lies on the disk."""
    lines = []
    if document.payloads:
        rows = [
            (one.name, show_bytes(one.bytes), f"{one.there} of {one.files}", one.place)
            for one in document.payloads
        ]
        lines += columns([("PAYLOAD", "SIZE", "FILES HERE", "PLACE"), *rows])
        for one in document.payloads:
            used = ", ".join(one.used_by) or "nothing in the fleet file"
            lines += wrapped(f"{one.name} is used by: {used}", width, "  ")
    elif document.disk is None:
        lines.append("no payloads: there is no fleet file, or none in it")
    if document.disk is not None:
        lines += ["", *_disk(document.disk, document.at, width)]
    return lines


def _disk(disk: Disk, at: str, width: int) -> list[str]:
    lines = [f"{at}: {show_bytes(disk.free)} of {show_bytes(disk.size)} free", ""]
    rows = [
        (show_bytes(one.bytes), one.what, _GO[one.reclaimable], str(one.files), one.path)
        for one in disk.entries
    ]
    if rows:
        lines += [*columns([("ON DISK", "WHAT", "CAN GO", "FILES", "PATH"), *rows]), ""]
    for entry in disk.entries:
        lines += wrapped(f"{entry.path}: {_why(entry)}", width, "  ")
    total = f"{show_bytes(disk.reclaimable)} could go"
    lines += ["", f"{total}; of {show_bytes(disk.unknown)} that is not known"]
    for path in disk.unreadable:
        lines += wrapped(f"not read, so not counted: {path}", width, "  ! ")
    for one in disk.unsearched:
        lines += wrapped(f"not searched: {one.where}: {one.why}", width, "  ? ")
    return [*lines, *(line for note in disk.notes for line in wrapped(note, width, "  "))]


def _why(entry: SpaceEntry) -> str:
    sparse = entry.apparent > 2 * entry.bytes and entry.apparent - entry.bytes > 2**20
    said = f"; its files say {show_bytes(entry.apparent)}" if sparse else ""
    return f"{entry.what}, {entry.why}{said}"


def payload_retire_lines(document: PayloadRetire, width: int) -> list[str]:
    """What would go or went, what stays, who refers to it, and what is next."""
    lines = []
    for row in document.items:
        lines.append(f"{_status(document, row.status)}  {row.path}  {show_bytes(row.bytes)}")
        if row.item:
            at = "" if document.at == "." else f" --at {shlex.quote(document.at)}"
            lines += [f"    meshctl payload restore {shlex.quote(row.item)}{at}"]
    for reference in document.references:
        text = f"{reference.path}: {reference.where}: {reference.said}"
        lines += wrapped(text, width, "  ✗ ")
    for one in document.unsearched:
        lines += wrapped(f"not searched: {one.where}: {one.why}", width, "  ? ")
    for path in document.stays:
        lines.append(f"  stays  {path}")
    lines += wrapped(document.warning, width, "  ! ") if document.warning else []
    lines += [line for note in document.notes for line in wrapped(note, width, "  ")]
    lines += ["", *wrapped(_ENDS[document.verdict], width)]
    lines += wrapped(document.hint, width, "  hint: ") if document.hint else []
    return [*lines, f"  in {document.trash}"] if document.trash else lines


_ENDS = {
    "free": "free: nobody who was asked refers to them",
    "retired": "✓ done: moved, not deleted; `meshctl payload purge` gives the bytes back",
    "referenced": "✗ refused: somebody refers to them; nothing was moved",
    "unclear": "? unclear: not all who may refer to them could be searched; nothing was moved",
}


def _status(document: PayloadRetire, status: str) -> str:
    if status == "there":
        return "in the trash already"
    if status == "moved":
        return "✓ moved"
    referenced = {one.path for one in document.references}
    return "would go" if document.verdict == "free" else "asked for" if referenced else "not moved"


def payload_restore_lines(document: PayloadRestore) -> list[str]:
    """Each file and whether it came back now."""
    words = {"restored": "✓ done   ", "there": "was there"}
    return [f"{words[row.status]}  {row.path}" for row in document.items]


def payload_purge_lines(document: PayloadPurge, width: int) -> list[str]:
    """What is due or gone, then what stays and why."""
    if not document.items:
        return ["the trash is empty"]
    lines = []
    for row in sorted(document.items, key=lambda one: one.verdict):
        state = "deleted" if row.status == "removed" else row.verdict
        lines.append(f"{state:<7}  {row.item}  {show_bytes(row.bytes)}")
        when = f"retired {show_minute(row.retired)}"
        lines += wrapped(f"{when}; {row.why}" if row.why else when, width, "         ")
    lines += [line for note in document.notes for line in wrapped(note, width, "  ")]
    return [*lines, "", _sum(document)]


def _sum(document: PayloadPurge) -> str:
    grace = shown_span(document.grace_s)
    if any(row.status == "removed" for row in document.items):
        return f"✓ done: {show_bytes(document.freed)} of the disk were given back"
    due = sum(row.bytes for row in document.items if row.verdict == "due")
    return f"{show_bytes(due)} could be deleted for good, after a grace of {grace}"
