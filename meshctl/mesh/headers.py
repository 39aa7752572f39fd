"""Which headers pass through a mesh, and which it writes itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

RELEASE = "x-mesh-release"
REVISION = "x-mesh-revision"
MODEL = "x-mesh-model"
PEER = "x-mesh-peer"
REQUEST = "x-request-id"
"""The client's own or one of ours; it goes along to whoever answers, and back to the client."""
HOP = "x-mesh-hop"
"""On a request that a mesh forwarded: it is answered there or refused, never sent on again."""

_HOP_BY_HOP = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
        "te", "trailer", "transfer-encoding", "upgrade",
    )
)  # fmt: skip
_NOT_SENT = _HOP_BY_HOP | {
    # The body was read, decoded and maybe rewritten; its length and coding are set anew.
    "host", "content-length", "content-encoding", "accept-encoding", "expect",
    # A client's credential was for this mesh, not for whoever answers behind it.
    "cookie", "api-key", "apikey", "x-api-key", "x-access-token", "forwarded",
    # A part of an answer, or none because it is known: what the mesh passes on is a whole one.
    "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
}  # fmt: skip
_NOT_SENT_PREFIXES = (
    "x-mesh-",
    # What opens a metadata server, of Google, Azure ("metadata") and AWS.
    "metadata", "x-metadata-", "x-google-metadata-", "x-aws-",
    # Credentials, and claims of a front about who the client is: only that front may make them.
    "x-goog-", "x-amz-", "x-auth-", "x-forwarded-", "proxy-",
)  # fmt: skip
_NOT_SENT_SUFFIX = "authorization"
"""Fronts rename the header when they pass it on: x-serverless-, x-original-, proxy-."""
_NOT_RETURNED = _HOP_BY_HOP | {"content-length", "server", "date", "set-cookie"}


def sent(headers: Mapping[str, str]) -> dict[str, str]:
    """What goes on to an engine or a peer; uncompressed, for the end of a stream must be seen."""
    own = _of_this_connection(headers)
    passed: dict[str, tuple[str, str]] = {}
    for name, value in headers.items():  # one that came twice is one with both values, in order
        low = name.lower()
        if low not in own and not _is_kept_here(low):
            first, before = passed.get(low, (name, ""))
            passed[low] = first, f"{before}, {value}" if low in passed else value
    return dict(passed.values()) | {"Accept-Encoding": "identity"}


def _of_this_connection(headers: Mapping[str, str]) -> frozenset[str]:
    """What Connection names is for the next hop only (RFC 9110, 7.6.1). What the request could not
    be read without is not among it."""
    named = (value for name, value in headers.items() if name.lower() == "connection")
    words = {word.strip().lower() for value in named for word in value.split(",")}
    return frozenset(words - {"content-type"})


def _is_kept_here(name: str) -> bool:
    return (
        name in _NOT_SENT or name.startswith(_NOT_SENT_PREFIXES) or name.endswith(_NOT_SENT_SUFFIX)
    )


def returned(headers: Mapping[str, str], *, from_mesh: bool) -> dict[str, str]:
    """What comes back to the client; `x-mesh-` headers are believed from a peer, not an engine."""
    lowered = {name.lower(): value for name, value in headers.items()}
    return {
        name: value
        for name, value in lowered.items()
        if name not in _NOT_RETURNED and (from_mesh or not name.startswith("x-mesh-"))
    }


def request_id(headers: Mapping[str, str], otherwise: str) -> str:
    """The client's name for a request, where it has one that can travel and be logged."""
    given = headers.get(REQUEST, "")
    return given if re.fullmatch(r"[A-Za-z0-9._:/=+-]{1,128}", given) else otherwise


def named(headers: Mapping[str, str], id: str) -> dict[str, str]:
    """The headers with this id, in whatever letters the client had written its own."""
    return {n: value for n, value in headers.items() if n.lower() != REQUEST} | {REQUEST: id}


def about(headers: Mapping[str, str]) -> dict[str, str]:
    """Whom an answer is about: what an answer of our own keeps of a foreign one's headers."""
    return {name: headers[name] for name in (MODEL, PEER) if name in headers}
