"""The MESH_FEDERATION_PEERS document: which other meshes own which models. Pure.

Two forms say the same: a JSON array of `{"id", "baseUrl", "models", "priority", "weight"}`, and the
compact `id=baseUrl|model+model|priority|weight`, entries separated by commas. Priority and weight
may be left out of both. The array may also say how many tokens a model takes: `"context": {ID: N}`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from meshctl.errors import Problem, SpecError
from meshctl.spec.registry import MODEL_NAME, Entry, entry_path, refusal

VARIABLE = "MESH_FEDERATION_PEERS"
PEER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
BASE_URL = r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$"
"""Scheme, host and path; no credentials, no query, none of the separators of the compact form."""
_PLACE = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:(?P<port>[0-9]{1,9}))?(/|$)")
ANY = "*"
"""A peer that lists this takes every model that nobody else owns."""
_HINT = "write a JSON array, or id=baseUrl|model+model|priority|weight"


def _without_slash(url: str) -> str:
    if url.endswith("/"):
        raise ValueError(f"{url!r} must not end with a slash")
    return url


def _with_host(url: str) -> str:
    """The pattern lets through what no client can ask: half a bracket, a port beyond 65535."""
    found = _PLACE.match(url)
    if not found or not 1 <= int(found["port"] or 80) <= 65535:
        raise ValueError(f"{url!r} names no host and port that can be asked")
    return url


class PeerEntry(Entry):
    """One peer; the lowest priority is asked first, then the highest weight."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    id: str = Field(pattern=PEER_NAME)
    base_url: Annotated[str, AfterValidator(_without_slash), AfterValidator(_with_host)] = Field(
        pattern=BASE_URL, alias="baseUrl"
    )
    models: tuple[Annotated[str, Field(pattern=rf"^\*$|{MODEL_NAME}")], ...] = Field(min_length=1)
    priority: int = Field(default=0, ge=0)
    weight: int = Field(default=1, ge=1)
    context: dict[Annotated[str, Field(pattern=MODEL_NAME)], Annotated[int, Field(ge=1)]] = Field(
        default={}, exclude_if=lambda context: not context
    )
    """Tokens per request, of the models that declare them."""


_DOCUMENT = TypeAdapter(tuple[PeerEntry, ...])


def parse_peers(text: str) -> tuple[PeerEntry, ...]:
    """Either form as entries; empty text is none. Raises SpecError that names every bad entry."""
    text = text.strip()
    if not text:
        return ()
    peers = _parse_json(text) if text[0] in "[{" else _parse_compact(text)
    counts = Counter(peer.id for peer in peers)
    doubles = [Problem(VARIABLE, id, "declared twice") for id, n in counts.items() if n > 1]
    if doubles:
        raise SpecError(tuple(doubles))
    return peers


def _parse_json(text: str) -> tuple[PeerEntry, ...]:
    try:
        return _DOCUMENT.validate_json(text, by_alias=True, by_name=False)
    except ValidationError as error:
        raise refusal(error, place=VARIABLE, path=entry_path(text, "id")) from None


def _parse_compact(text: str) -> tuple[PeerEntry, ...]:
    return tuple(_compact_entry(index, part) for index, part in enumerate(text.split(",")))


def _compact_entry(index: int, text: str) -> PeerEntry:
    id, equals, rest = text.strip().partition("=")
    fields = rest.split("|")
    if not equals or not 2 <= len(fields) <= 4:
        message = f"{text.strip()!r} is not a peer"
        raise SpecError((Problem(VARIABLE, f"[{index}]", message, _HINT),))
    names = ("priority", "weight")
    values: dict[str, Any] = {"id": id, "baseUrl": fields[0], "models": fields[1].split("+")}
    values |= {name: _number(field) for name, field in zip(names, fields[2:], strict=False)}
    try:
        return PeerEntry.model_validate(values | {"models": tuple(values["models"])})
    except ValidationError as error:
        shown = f"[{index}] {id}"
        raise refusal(
            error,
            place=VARIABLE,
            path=lambda loc: f"{shown}: {'.'.join(str(part) for part in loc)}",
        ) from None


def _number(text: str) -> int | str:
    """The number, or the text itself so that the entry's own check can quote it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else text


def choose(name: str, peers: Sequence[PeerEntry]) -> PeerEntry | None:
    """Which peer is asked for a model that no engine of one's own has; None for nobody.

    The lowest priority wins, then the highest weight, then the name. A peer that lists the model
    goes before one that takes any only where both have the same priority and weight.
    """
    owners = [peer for peer in peers if name in peer.models or ANY in peer.models]
    return min(owners, key=lambda peer: _order(peer, name)) if owners else None


def _order(peer: PeerEntry, name: str) -> tuple[int, int, bool, str]:
    return (peer.priority, -peer.weight, name not in peer.models, peer.id)


def render_peers(peers: Iterable[PeerEntry]) -> str:
    """The JSON form, compact, keys sorted; equal entries give equal bytes. This is the form that
    meshctl writes: its grammar is nobody's own, and it can take keys to come."""
    values = [peer.model_dump(mode="json", by_alias=True) for peer in peers]
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def render_peers_compact(peers: Iterable[PeerEntry]) -> str:
    """The compact form, for people who type it."""
    return ",".join(
        f"{peer.id}={peer.base_url}|{'+'.join(peer.models)}|{peer.priority}|{peer.weight}"
        for peer in peers
    )
