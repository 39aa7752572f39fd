"""How peers look: one row each, what is wrong below it, and the runs that changed them. Pure."""

from __future__ import annotations

from meshctl.ui.federation import PeerRow, Peers
from meshctl.ui.render.rollout import rollout_lines
from meshctl.ui.render.text import SIGNS, columns, wrapped, wrapped_facts

_HEAD = ("PEER", "OF", "ANNOUNCED", "VERDICT", "MIN", "PRIORITY", "WEIGHT")


def peers_lines(document: Peers, width: int, verbose: bool = False) -> list[str]:
    """The runs first, then the peers as they are now, then what may be done next."""
    lines: list[str] = []
    for rollout in document.rollouts:
        lines += [*rollout_lines(rollout, width, verbose), ""]
    for note in document.notes:
        lines += wrapped(note, width, "! ")
    lines += _table(document.peers, width)
    if document.delete:
        lines += [
            "the peer that was taken out keeps its service; to remove that",
            f"  $ {document.delete}",
        ]
    return lines


def _table(peers: tuple[PeerRow, ...], width: int) -> list[str]:
    if not peers:
        return ["no peers: a service with `role: peer, like: COORDINATOR` is one"]
    table = columns([_HEAD, *(_row(peer) for peer in peers)])
    lines = table[:1]
    for row, peer in zip(table[1:], peers, strict=True):
        lines += [row, *_below(peer, width)]
    return lines


def _row(peer: PeerRow) -> tuple[str, ...]:
    return (
        peer.name,
        peer.coordinator,
        {True: "yes", False: "no", None: "?"}[peer.announced],
        SIGNS[peer.verdict] if peer.verdict else "unproven",
        *(("?" if n is None else str(n)) for n in (peer.min_instances, peer.priority, peer.weight)),
    )


def _below(peer: PeerRow, width: int) -> list[str]:
    lines = wrapped_facts([("models", ", ".join(peer.models)), ("url", peer.url)], width)
    for drift in peer.drift:
        lines += wrapped(drift, width, "  ! ")
    return lines
