"""How payloads on a disk look: in 80 columns, with the next command, and nothing cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshctl.outside.disk import Seen
from meshctl.payloads.references import Found, Unsearched
from meshctl.payloads.space import Kind, Space
from meshctl.payloads.verify import Declared, Proof, SetProof
from meshctl.ui.documents import Document
from meshctl.ui.names import names
from meshctl.ui.payload_tidy import disk_document, retire_document, verify_document
from meshctl.ui.payload_upkeep import (
    ListedEntry,
    PayloadList,
    PayloadPurge,
    PayloadRestore,
    PurgeEntry,
    RestoredEntry,
)
from meshctl.ui.render import render

ITEM = "20261130T204500Z/qwen/qwen3-8b.Q8_0.gguf"
GIB = 2**30
FILE = Declared(Path("models/qwen/a.gguf"), 10, "1" * 64, "the sha256 that the fleet declares")
VERIFIED = verify_document(
    [
        Proof(FILE, "pass", 10, "1" * 64, repaired=True),
        Proof(FILE, "fail", 10, "2" * 64, why=f"its sha256 is {'2' * 64}"),
        Proof(FILE, "unclear", why="it cannot be read: Permission denied"),
    ],
    [SetProof(Path("models/x-00001-of-00003.gguf"), "fail", ("missing-part: x is missing",))],
)
LISTED = PayloadList(
    at="models",
    payloads=(ListedEntry(name="qwen", bytes=8 * GIB, files=2, there=1, place="models/qwen",
                          used_by=("services.chat.models.qwen3-8b",)),
              ListedEntry(name="old", bytes=1, files=1, there=0, place="models/old", used_by=())),
    disk=disk_document(
        (100 * GIB, 10 * GIB),
        [Space(Kind("qwen", "payload", False, "services.chat.models.qwen3-8b"), 2, GIB, GIB),
         Space(Kind("x4e.log", "other", None, "nobody knows what it is for"), 1, 4096, 3 * GIB),
         Space(Kind("old", "unreferenced", True, "`meshctl payload retire`"), 1, 5000, 5000)],
        ["lost+found"], [Unsearched("targets.attic", "units and command lines were not read")],
        ["what a process of others may have open is not ours to see"],
    ),
)  # fmt: skip
SEEN = Seen("qwen/a.gguf", "file", 10, 4096, 1, 1, 1, 2)
REFUSED = retire_document(
    at="models", files=[SEEN], already=[], unsearched=[], notes=["1 of the files has other names"],
    found=[Found("qwen/a.gguf", "services.chat.env.FALLBACK", "${X:-/models/qwen/a.gguf}")],
    stays=["qwen/live.gguf"], warning="not taken: qwen/live.gguf. Bring files back one by one",
    hint="let those refer to something else first, then run the same command again",
)  # fmt: skip
PURGED = PayloadPurge(
    at="models", grace_s=604800, freed=8 * GIB, notes=(),
    items=(PurgeEntry(item=ITEM, bytes=8 * GIB, retired="2026-11-30T20:45:00Z", verdict="due",
                      status="removed", why=""),
           PurgeEntry(item=ITEM, bytes=4096, retired="2026-11-30T20:45:00Z", verdict="kept",
                      status="found", why="release r0123456789 of chat can still be rolled back "
                      "to, and holds it")),
)  # fmt: skip
RESTORED = PayloadRestore(
    at="models", items=(RestoredEntry(item=ITEM, path="qwen/a.gguf", status="restored"),)
)


@pytest.mark.parametrize("document", [VERIFIED, LISTED, REFUSED, PURGED, RESTORED])
def test_it_fits_in_80_columns_and_has_names(document: Document) -> None:
    assert max(map(len, render(document))) <= 80
    assert names(document)
    assert type(document).model_validate(document.data()) == document


def said(document: Document) -> str:
    return " ".join(" ".join(render(document)).split())


def test_a_proof_says_what_is_wrong_and_how_many() -> None:
    assert (VERIFIED.verdict, "2 of 3 files are not what was declared" in said(VERIFIED)) == (
        "fail", True,
    )  # fmt: skip
    assert "10 B, repaired" in said(VERIFIED) and "missing-part" in said(VERIFIED)


def test_a_list_says_what_could_go_and_what_is_unknown() -> None:
    text = said(LISTED)

    assert "4.9 KiB could go; of 4 KiB that is not known" in text
    assert "old is used by: nothing in the fleet file" in text
    assert "its files say 3 GiB" in text and "not read, so not counted: lost+found" in text
    assert "not searched: targets.attic" in text


def test_a_refusal_names_who_refers_to_it_and_what_is_next() -> None:
    text = said(REFUSED)

    assert REFUSED.exit_code == 8
    assert "services.chat.env.FALLBACK: ${X:-/models/qwen/a.gguf}" in text
    assert "nothing was moved" in text and "hint: let those refer" in text


def test_a_purge_says_what_went_and_why_the_rest_stays() -> None:
    text = said(PURGED)

    assert f"deleted {ITEM} 8 GiB" in text and "8 GiB of the disk were given back" in text
    assert "release r0123456789 of chat can still be rolled back to" in text
    assert "the trash is empty" in said(PURGED.model_copy(update={"items": ()}))
