"""Says what the bytes below a folder are: payloads in use, unreferenced, partial, trash. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from meshctl.outside.disk import Seen
from meshctl.payloads.declared import TRASH
from meshctl.payloads.manifest import ENDING

What = Literal["payload", "unreferenced", "partial", "trash", "cache", "other"]
MODELS = (".gguf", ".safetensors", ".knot", ".bin", ".pt", ".pth", ".onnx")
"""Endings of files that are the weights of a model, or what an encoder makes of them."""


@dataclass(frozen=True)
class Kind:
    """What a file is, and whether it could go; None is unknown, and `why` says why."""

    path: str
    what: What
    reclaimable: bool | None
    why: str


@dataclass(frozen=True)
class Space:
    """Files of one kind that lie together. `real` are blocks of the disk, `apparent` what the files
    say they are."""

    kind: Kind
    files: int
    real: int
    apparent: int


@dataclass(frozen=True)
class Known:
    """What was found out about files, by their paths: who uses them, which are held by a fetch now,
    and the payloads that declare them. `unclear` is who could not be searched, or nothing."""

    used: Mapping[str, str]
    fetching: frozenset[str]
    declared: frozenset[str]
    unclear: str = ""


def kind_of(seen: Seen, known: Known, manifests: frozenset[str]) -> Kind:
    """One file below the folder of the payloads; a manifest is of the kind of its file."""
    path = seen.path.removesuffix(ENDING)
    top, _, rest = path.partition("/")
    if top == TRASH:
        return Kind("/".join([top, *rest.split("/")[:1]]), "trash", True, "`meshctl payload purge`")
    if _is_partial(path):
        return _partial(path, known)
    if path in known.used:
        return Kind(top, "payload", False, known.used[path])
    model = path in known.declared or path in manifests or path.lower().endswith(MODELS)
    if not model or seen.kind != "file":
        return Kind(top, "other", None, "nobody knows what it is for")
    if known.unclear:
        return Kind(top, "unreferenced", None, f"not searched: {known.unclear}")
    return Kind(top, "unreferenced", True, "`meshctl payload retire`, then purge")


def _is_partial(path: str) -> bool:
    return any(
        part.startswith(".") and part.endswith((".part", ".part.json", ".parts", ".repair"))
        for part in path.split("/")
    )


def _partial(path: str, known: Known) -> Kind:
    file = path.removesuffix(".json")
    if file in known.fetching:
        return Kind(path.partition("/")[0], "partial", False, "it is being fetched now")
    return Kind(path.partition("/")[0], "partial", True, "a fetch that was cut short")


def spaces(found: Sequence[tuple[Seen, Kind]]) -> list[Space]:
    """Kinds with their sums, the largest first. A file with several names is counted once, where it
    would stay longest; one that has further names elsewhere frees nothing for certain."""
    here: dict[tuple[int, int], int] = {}
    for identity in {seen.path: seen.identity for seen, _ in found}.values():
        here[identity] = here.get(identity, 0) + 1
    sums: dict[Kind, list[Seen]] = {}
    for seen, kind in found:
        elsewhere = seen.names > here[seen.identity]
        sums.setdefault(_known_less(kind) if elsewhere else kind, []).append(seen)
    return sorted(_summed(sums), key=lambda one: (-one.real, one.kind.path, one.kind.what))


def _known_less(kind: Kind) -> Kind:
    if kind.reclaimable is not True:
        return kind
    return Kind(kind.path, kind.what, None, "it has other names elsewhere, which keep its bytes")


def _summed(sums: Mapping[Kind, Sequence[Seen]]) -> Iterator[Space]:
    counted: set[tuple[int, int]] = set()
    for kind in sorted(sums, key=lambda one: _STAYS.index(one.reclaimable)):
        once = {seen.identity: seen for seen in sums[kind] if seen.identity not in counted}
        counted |= once.keys()
        real = sum(seen.real for seen in once.values())
        yield Space(kind, len(sums[kind]), real, sum(seen.bytes for seen in once.values()))


_STAYS = (False, None, True)
