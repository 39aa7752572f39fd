"""The JSON documents of `payload`: what a model really is, and how two of them differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from meshctl.payloads.compare import Difference
from meshctl.payloads.compare import Verdict as Likeness
from meshctl.payloads.header import Header
from meshctl.payloads.inspect import Inspection
from meshctl.payloads.outgoing import Published
from meshctl.payloads.wanted import Fetched
from meshctl.spec.model import Frozen
from meshctl.ui.documents import Document, Overall


class TypeEntry(Frozen):
    """All tensors of one type."""

    count: int
    bytes: int | None


class TensorsEntry(Frozen):
    """The tensors of a model, those of all its files."""

    count: int
    by_type: dict[str, TypeEntry]


class SplitEntry(Frozen):
    """Which part of how many the file is; the first is 1."""

    index: int
    count: int


class ProblemEntry(Frozen):
    """One thing wrong with a payload."""

    id: str
    message: str


class Payload(Document):
    """What a model file really is, of a set all files together; null is unknown."""

    kind: Literal["payload/v1"] = "payload/v1"
    source: str
    format: Literal["gguf", "safetensors", "opaque"]
    architecture: str | None
    parameters: int | None
    bytes: int | None
    bytes_per_parameter: float | None
    quantisation: str | None = Field(description="what most weights are, by their own types")
    context_length: int | None
    tensors: TensorsEntry | None
    split: SplitEntry | None = Field(description="null: one file")
    chat_template_sha256: str | None
    tokenizer_sha256: str | None
    draft_head: bool | None
    verdict: Overall
    problems: tuple[ProblemEntry, ...]


class DifferenceEntry(Frozen):
    """One thing that is not the same; null where it is absent."""

    path: str
    a: str | None
    b: str | None
    matters: bool
    why: str


class PayloadCompare(Document):
    """Whether B can take the place of A, by their headers."""

    kind: Literal["payload-compare/v1"] = "payload-compare/v1"
    a: str
    b: str
    verdict: Likeness
    differences: tuple[DifferenceEntry, ...]


class FetchedEntry(Frozen):
    """One file that is at its place."""

    source: str
    path: str
    bytes: int
    sha256: str
    sent: int = Field(description="bytes that came over the wire")
    resumed: int = Field(description="bytes that an earlier fetch had left")
    there: bool = Field(description="it was there before, and was not fetched")
    proved: bool
    by: str | None = Field(description="by what its bytes were proved; null: by nothing")


class PayloadFetch(Document):
    """Files that were fetched, or were there; what could not be proved is an error instead."""

    kind: Literal["payload-fetch/v1"] = "payload-fetch/v1"
    files: tuple[FetchedEntry, ...]


class PublishedEntry(Frozen):
    """One object that was read back whole."""

    path: str
    to: str
    bytes: int
    sha256: str
    version: str = Field(description="the ETag of the state that was read back")
    sent: int = Field(description="bytes that were sent now")
    resumed: int = Field(description="bytes that an earlier process had sent")
    there: bool = Field(description="it was there before, and was only read")


class PayloadPublish(Document):
    """Files that are in a bucket, each read back; what could not be proved is an error instead."""

    kind: Literal["payload-publish/v1"] = "payload-publish/v1"
    files: tuple[PublishedEntry, ...]


def publish_document(found: Sequence[Published]) -> PayloadPublish:
    """What was published as its document."""
    rows = tuple(
        PublishedEntry(
            path=str(p.path), to=p.to, bytes=p.bytes, sha256=p.sha256, version=p.version,
            sent=p.sent, resumed=p.resumed, there=p.there,
        )
        for p in found
    )  # fmt: skip
    return PayloadPublish(files=rows)


def fetch_document(found: Sequence[Fetched]) -> PayloadFetch:
    """What was fetched as its document."""
    rows = tuple(
        FetchedEntry(
            source=f.source, path=str(f.path), bytes=f.bytes, sha256=f.sha256, sent=f.sent,
            resumed=f.resumed, there=f.there, proved=f.proved_by is not None, by=f.proved_by,
        )
        for f in found
    )  # fmt: skip
    return PayloadFetch(files=rows)


def payload_document(found: Inspection) -> Payload:
    """An inspection as its document."""
    per = found.bytes / found.parameters if found.bytes and found.parameters else None
    part = found.part
    return Payload(
        source=found.source,
        format=found.format,
        architecture=found.header.architecture if found.header else None,
        parameters=found.parameters,
        bytes=found.bytes,
        bytes_per_parameter=round(per, 4) if per else None,
        quantisation=found.quantisation,
        context_length=found.context_length,
        tensors=_tensors(found.header) if found.header else None,
        split=SplitEntry(index=part.index, count=part.count) if part else None,
        chat_template_sha256=found.chat_template_sha256,
        tokenizer_sha256=found.tokenizer_sha256,
        draft_head=found.draft_head,
        verdict=found.verdict,
        problems=tuple(ProblemEntry(id=p.id, message=p.message) for p in found.problems),
    )


def compare_document(
    a: str, b: str, verdict: Likeness, differences: Sequence[Difference]
) -> PayloadCompare:
    """A comparison as its document."""
    rows = tuple(
        DifferenceEntry(path=d.path, a=d.a, b=d.b, matters=d.weight != "none", why=d.why)
        for d in differences
    )
    return PayloadCompare(a=a, b=b, verdict=verdict, differences=rows)


def _tensors(header: Header) -> TensorsEntry:
    """Most bytes first."""
    found: dict[str, tuple[int, int | None]] = {}
    for tensor in header.tensors:
        count, size = found.get(tensor.type, (0, 0))
        known = None if size is None or tensor.bytes is None else size + tensor.bytes
        found[tensor.type] = (count + 1, known)
    rows = sorted(found.items(), key=lambda row: (-(row[1][1] or 0), row[0]))
    return TensorsEntry(
        count=len(header.tensors),
        by_type={type_: TypeEntry(count=count, bytes=size) for type_, (count, size) in rows},
    )
