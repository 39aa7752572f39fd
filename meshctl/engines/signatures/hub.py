"""Failures of fetching from the model hub, in the words of its Python client. Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.engine import Signature

_SOURCE = "huggingface_hub source"

HUB = (
    Signature(
        "gated",
        compile(
            r"Cannot access gated repo for url|GatedRepoError"
            r"|is restricted and you are not in the authorized list"
        ),
        "the repository is gated, and this token may not read it",
        "401: the token is missing; 403: its owner has not accepted the licence",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "repository-missing",
        compile(r"Repository Not Found for url|RepositoryNotFoundError"),
        "no such repository, or a private one without a token",
        "check the name; then HF_TOKEN",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "hub-unreachable",
        compile(
            r"LocalEntryNotFoundError|We couldn't connect to 'https?://\S*huggingface"
            r"|MaxRetryError.*huggingface"
        ),
        "the hub cannot be reached, or refused, and the file is not in the cache",
        "fetch the payload beforehand (`meshctl payload fetch`) and give its path; or HF_TOKEN"
        " where the line speaks of a rate limit",
        _SOURCE,
        phase="load",
    ),
)
