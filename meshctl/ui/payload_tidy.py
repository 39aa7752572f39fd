"""Turns what was proved, listed, retired, restored and purged into documents. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from meshctl.outside.disk import Seen, printable
from meshctl.payloads.held import Held
from meshctl.payloads.purge import Judged
from meshctl.payloads.references import Found, Unsearched
from meshctl.payloads.space import Space
from meshctl.payloads.trash import Item, Retirement, item_name
from meshctl.payloads.verify import Proof, SetProof
from meshctl.ui import payload_upkeep as ui
from meshctl.ui.documents import Overall


def verify_document(proofs: Sequence[Proof], sets: Sequence[SetProof]) -> ui.PayloadVerify:
    """Each file and set; the whole is as bad as the worst of them."""
    found = {one.verdict for one in proofs} | {one.verdict for one in sets}
    verdict: Overall = "fail" if "fail" in found else "unclear" if "unclear" in found else "pass"
    return ui.PayloadVerify(
        verdict=verdict,
        files=tuple(_proved(one) for one in proofs),
        sets=tuple(
            ui.SetEntry(path=printable(s.path), verdict=s.verdict, problems=s.problems)
            for s in sets
        ),
    )


def _proved(proof: Proof) -> ui.ProvedEntry:
    declared = proof.declared
    return ui.ProvedEntry(
        path=printable(declared.path), payload=declared.payload, verdict=proof.verdict,
        bytes=proof.bytes, sha256=proof.sha256, expected_bytes=declared.bytes,
        expected_sha256=declared.sha256, by=declared.by, repaired=proof.repaired, why=proof.why,
    )  # fmt: skip


Already = Sequence[tuple[Retirement, Item]]
"""Files that an earlier run moved."""


def retire_document(
    *, at: str, files: Sequence[Seen], already: Already, found: Sequence[Found],
    unsearched: Sequence[Unsearched], stays: Sequence[str], warning: str, notes: Sequence[str],
    hint: str,
) -> ui.PayloadRetire:  # fmt: skip
    """What a search for references showed, before anything is moved."""
    code = 8 if found else 7 if unsearched else 0
    rows = [
        ui.RetiredEntry(
            item=None, path=printable(seen.path), bytes=seen.real, sha256=None, status="found",
            restore=None,
        )
        for seen in files
    ]  # fmt: skip
    return ui.PayloadRetire(
        verdict="referenced" if found else "unclear" if unsearched else "free",
        exit_code=code,
        at=printable(at),
        trash=None,
        items=(*rows, *(_retired(one, item, "there") for one, item in already)),
        stays=tuple(map(printable, stays)),
        warning=printable(warning),
        references=tuple(_reference(one) for one in found),
        unsearched=_unsearched(unsearched),
        notes=tuple(notes),
        hint=hint,
    )


def retired_document(
    before: ui.PayloadRetire, trash: str | None, made: Retirement | None, already: Already
) -> ui.PayloadRetire:
    """The same once it is done."""
    rows = [_retired(made, item, "moved") for item in made.items] if made else []
    items = (*rows, *(_retired(one, item, "there") for one, item in already))
    return before.model_copy(update={"verdict": "retired", "trash": trash, "items": items})


def _retired(of: Retirement, item: Item, status: str) -> ui.RetiredEntry:
    return ui.RetiredEntry.model_validate(
        {
            "item": item_name(of.name, item), "path": item.path, "bytes": item.real,
            "sha256": item.sha256, "status": status, "restore": item.restore,
        }
    )  # fmt: skip


def _reference(found: Found) -> ui.ReferenceEntry:
    path, where, said = map(printable, (found.path, found.where, found.said))
    return ui.ReferenceEntry(path=path, where=where, said=said)


def _unsearched(found: Iterable[Unsearched]) -> tuple[ui.UnsearchedEntry, ...]:
    return tuple(ui.UnsearchedEntry(where=printable(one.where), why=one.why) for one in found)


def restore_document(at: str, held: Sequence[Held], before: Mapping[str, str]) -> ui.PayloadRestore:
    """Files that are at their places; `before` is where each was."""
    rows = [
        ui.RestoredEntry(
            item=one.name,
            path=one.item.path,
            status="restored" if before[one.name] == "trash" else "there",
        )
        for one in held
    ]
    return ui.PayloadRestore(at=printable(at), items=tuple(rows))


def purge_document(
    at: str, judged: Sequence[Judged], grace_s: float, gone: frozenset[str], freed: int,
    said: Sequence[str],
) -> ui.PayloadPurge:  # fmt: skip
    """Every file of the trash that it is about, and those that are gone."""
    shared = sum(one.held.seen is not None and one.held.seen.names > 1 for one in judged)
    notes = [f"{shared} of the files have other names, which keep their bytes"] if shared else []
    return ui.PayloadPurge(
        at=printable(at),
        grace_s=grace_s,
        items=tuple(
            ui.PurgeEntry(
                item=one.held.name,
                bytes=one.held.seen.real if one.held.seen else 0,
                retired=one.held.retirement.at,
                verdict=one.verdict,
                status="removed" if one.held.name in gone else "found",
                why=one.why,
            )
            for one in judged
        ),
        freed=freed,
        notes=(*said, *notes),
    )


def disk_document(
    room: tuple[int, int], found: Sequence[Space], unreadable: Sequence[str],
    unsearched: Sequence[Unsearched], notes: Sequence[str],
) -> ui.Disk:  # fmt: skip
    """What is on the disk; what surely could go, and what nobody knows that of."""
    rows = tuple(
        ui.SpaceEntry(
            path=printable(one.kind.path), what=one.kind.what, files=one.files, bytes=one.real,
            apparent=one.apparent, reclaimable=one.kind.reclaimable, why=one.kind.why,
        )
        for one in found
    )  # fmt: skip
    return ui.Disk(
        size=room[0],
        free=room[1],
        entries=rows,
        reclaimable=sum(row.bytes for row in rows if row.reclaimable),
        unknown=sum(row.bytes for row in rows if row.reclaimable is None),
        unreadable=tuple(map(printable, unreadable)),
        unsearched=_unsearched(unsearched),
        notes=tuple(notes),
    )
