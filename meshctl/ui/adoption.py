"""Turns an adoption into the document that `meshctl adopt` prints. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from meshctl.plan.adopted import Draft, Spot
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.plan.standing import word_of
from meshctl.rollout.adopt import Adopted
from meshctl.state.ledger import Ledger
from meshctl.state.peers import read_announced
from meshctl.ui import answers as ui


def adopt_document(
    spot: Spot, seen: ServiceSeen, adopted: Adopted, made: Draft | None, *, text: str,
    file: str | None, next_: str, unchanged: str | None = None, kept: Iterable[str] = (),
) -> ui.Adopt:  # fmt: skip
    """A service that was taken over; `made` is None where the fleet declared it before."""
    main = seen.main
    assert main is not None, "only what serves is adopted"
    return ui.Adopt(
        service=spot.key,
        target=spot.target,
        name=seen.name,
        release=main.release,
        revision=main.name,
        verdict=adopted.verdict,
        exit_code=adopted.code,
        run=adopted.run,
        known=adopted.known,
        file=file,
        unchanged=unchanged,
        text=text,
        peers=_peers(made.peers if made else None),
        older=tuple(
            _older(seen, one, adopted.past) for one in seen.revisions if one.name != main.name
        ),
        notes=(*(made.notes if made else ()), *kept),
        message=_adopted(spot, main, adopted),
        next=next_,
    )


def _peers(text: str | None) -> tuple[str, ...]:
    return tuple(entry.id for entry in read_announced(text or "").entries or ())


def _older(seen: ServiceSeen, revision: Revision, past: Ledger) -> ui.OlderRevision:
    tags = (row.tag for row in seen.traffic if row.tag and row.revision == revision.name)
    return ui.OlderRevision(
        revision=revision.name,
        release=revision.release,
        created=revision.created or None,
        known=word_of(past, revision),
        tags=tuple(sorted(tag for tag in tags if tag)),
    )


def _adopted(spot: Spot, main: Revision, adopted: Adopted) -> str:
    """What came of it, in one sentence."""
    if adopted.known:
        return f"{spot.key} is adopted already: release {main.release} serves"
    said = {
        "pass": "it passed, and a rollback can go to it",
        None: "unproven: nobody asked it",
    }.get(adopted.verdict, f"{adopted.verdict}, so no rollback goes to it: {adopted.why}")
    return f"adopted {spot.key}, release {main.release}: {said}"
