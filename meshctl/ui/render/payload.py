"""How a payload looks: what it is, its tensors by type, and what is wrong with it. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes
from meshctl.ui.payloads import (
    DifferenceEntry,
    FetchedEntry,
    Payload,
    PayloadCompare,
    PayloadFetch,
    PayloadPublish,
    PublishedEntry,
    TensorsEntry,
)
from meshctl.ui.render.text import columns, sign, wrapped, wrapped_facts

_HEAD = ("TYPE", "TENSORS", "SIZE", "SHARE")
_ENDS = {
    "drop-in": "B can take the place of A",
    "same-model": "the same model, and not a drop-in",
    "different": "another model",
}


def payload_lines(document: Payload, width: int) -> list[str]:
    """Facts, tensors, problems; what is unknown is said to be."""
    lines = [document.source, *wrapped_facts(_facts(document), width)]
    if document.tensors is not None and document.tensors.count:
        lines += ["", *_histogram(document.tensors)]
    lines += ["", _verdict(document)]
    for problem in document.problems:
        lines += wrapped(f"{problem.id}: {problem.message}", width, "  ! ")
    return lines


def payload_compare_lines(document: PayloadCompare, width: int) -> list[str]:
    """What matters first, each with its reason."""
    lines = [f"A  {document.a}", f"B  {document.b}", ""]
    for title, matters in (("matters", True), ("no effect", False)):
        rows = [row for row in document.differences if row.matters is matters]
        lines += [f"{title}:"] if rows else []
        for row in rows:
            lines += _difference(row, width)
        lines += [""] if rows else []
    if not document.differences:
        lines += ["no difference at all in the headers", ""]
    return [*lines, f"{document.verdict}: {_ENDS[document.verdict]}, by the headers"]


def payload_fetch_lines(document: PayloadFetch, width: int) -> list[str]:
    """Each file with what was sent for it, and by what it is proved."""
    return [line for row in document.files for line in _fetched(row, width)]


def _fetched(row: FetchedEntry, width: int) -> list[str]:
    if row.there:
        how = "it was there: nothing was fetched"
    else:
        far = "://" in row.source or row.source.startswith("hub:")
        how = f"{show_bytes(row.sent)} {'came over the wire' if far else 'were read'}"
        how += f", {show_bytes(row.resumed)} were here" if row.resumed else ""
    proved = f"by {row.by}" if row.by else "no: nothing says what it must be"
    facts = [
        ("from", row.source),
        ("size", f"{show_bytes(row.bytes)}, {row.bytes:,} bytes; {how}"),
        ("sha256", row.sha256),
        ("proved", proved),
    ]
    return [row.path, *wrapped_facts(facts, width)]


def payload_publish_lines(document: PayloadPublish, width: int) -> list[str]:
    """Each object with what was sent for it; all of them were read back."""
    return [line for row in document.files for line in _published(row, width)]


def _published(row: PublishedEntry, width: int) -> list[str]:
    if row.there:
        how = "it was there: nothing was sent"
    else:
        how = f"{show_bytes(row.sent)} were sent"
        how += f", {show_bytes(row.resumed)} before" if row.resumed else ""
    facts = [
        ("from", row.path),
        ("size", f"{show_bytes(row.bytes)}, {row.bytes:,} bytes; {how}"),
        ("sha256", row.sha256),
        ("proved", f"read back whole, version {row.version}"),
    ]
    return [row.to, *wrapped_facts(facts, width)]


def _facts(document: Payload) -> list[tuple[str, str | None]]:
    per, split = document.bytes_per_parameter, document.split
    size = "?" if document.bytes is None else show_bytes(document.bytes)
    exact = "" if document.bytes is None else f", {document.bytes:,} bytes"
    return [
        ("format", document.format),
        ("architecture", document.architecture or "?"),
        ("parameters", _number(document.parameters)),
        ("size", f"{size}{exact}"),
        ("per parameter", f"{per:.3f} bytes" if per is not None else "?"),
        ("quantisation", document.quantisation or "?"),
        ("context", _number(document.context_length)),
        ("part", f"{split.index} of {split.count}" if split else None),
        ("chat template", _digest(document.chat_template_sha256)),
        ("tokenizer", _digest(document.tokenizer_sha256)),
        ("draft head", {True: "yes", False: "no", None: "?"}[document.draft_head]),
    ]


def _histogram(tensors: TensorsEntry) -> list[str]:
    sizes = [row.bytes for row in tensors.by_type.values()]
    known = [size for size in sizes if size is not None]
    total = sum(known) if len(known) == len(sizes) else 0
    rows = [
        (
            type_,
            f"{row.count:,}",
            "?" if row.bytes is None else show_bytes(row.bytes),
            f"{100 * row.bytes / total:.1f} %" if row.bytes is not None and total else "?",
        )
        for type_, row in tensors.by_type.items()
    ]
    return columns([_HEAD, *rows], indent="  ")


def _verdict(document: Payload) -> str:
    shown = sign(document.verdict).rstrip()
    if document.verdict != "pass":
        return shown
    if document.format == "opaque":
        return f"{shown}: by its size alone, for it has no header that we know"
    return f"{shown}: nothing wrong is seen from the header and the size"


def _difference(row: DifferenceEntry, width: int) -> list[str]:
    lines = wrapped(f"{row.path}: {row.why}", width, "  ")
    pair = (("A", row.a if row.a is not None else "-"), ("B", row.b if row.b is not None else "-"))
    for side, value in pair:
        lines += wrapped(" ".join(value.split()) or '""', width, f"    {side}  ")
    return lines


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _digest(value: str | None) -> str:
    return f"sha256:{value[:16]}…" if value else "?"
