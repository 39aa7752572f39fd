"""The models of a mesh and of its declared peers, as GET /v1/models shows them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from meshctl.spec.federation import ANY, PeerEntry
from meshctl.spec.registry import ModelEntry
from meshctl.spec.switch import Backend


def listing(
    models: Sequence[ModelEntry],
    peers: Sequence[PeerEntry],
    created: int,
    backend: Backend | None = None,
) -> dict[str, object]:
    """One entry per id, local ones first; peers are not asked, for asking would wake them."""
    cards = {entry.id: _local(entry, created) for entry in models}
    taken = {name for entry in models for name in entry.names}
    if backend:
        names = (name for name in backend.models if name not in taken)
        cards |= {name: _behind(name, backend, created) for name in names}
    for peer in sorted(peers, key=lambda peer: (peer.priority, -peer.weight, peer.id)):
        for name in peer.models:
            if name != ANY and name not in taken:
                cards.setdefault(name, _remote(name, peer, created))
    return {"object": "list", "data": list(cards.values())}


def _local(entry: ModelEntry, created: int) -> dict[str, object]:
    """`meta.n_ctx` is where llama-server puts the window, `max_model_len` where vLLM does."""
    return {
        **_card(entry.id, created, "meshctl"),
        "aliases": list(entry.aliases),
        "max_model_len": entry.context,
        "meta": {"n_ctx": entry.context},
    }


def _behind(name: str, backend: Backend, created: int) -> dict[str, object]:
    window = {"max_model_len": backend.context, "meta": {"n_ctx": backend.context}}
    return {**_card(name, created, f"backend:{backend.name}"), "aliases": [], **window}


def _remote(name: str, peer: PeerEntry, created: int) -> dict[str, object]:
    tokens = peer.context.get(name)
    window = {"max_model_len": tokens, "meta": {"n_ctx": tokens}}
    return {**_card(name, created, f"peer:{peer.id}"), "aliases": [], **window}


def _card(name: str, created: int, owner: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": created, "owned_by": owner}
