"""What is asked: one running release behind a URL, and what it should be. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from meshctl.errors import UsageError
from meshctl.secret import Secret


@dataclass(frozen=True)
class ModelAsked:
    """One model the release should answer for: the string clients send, and what it can do."""

    id: str
    aliases: tuple[str, ...] = ()
    default: bool = False
    capabilities: frozenset[str] = frozenset()
    sampling: Mapping[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Everything clients may call it."""
        return (self.id, *self.aliases)


@dataclass(frozen=True)
class Subject:
    """One release at one URL. `identity`: answers carry the release id in a header.

    `token_deadline_s` is the longest wait for any one answer. Raises UsageError for a URL that
    cannot be asked, a token that no header can carry, or a deadline that is none.
    """

    url: str
    release: str | None = None
    identity: bool = False
    token: Secret | None = None
    models: tuple[ModelAsked, ...] = ()
    token_deadline_s: float = 60.0

    def __post_init__(self) -> None:
        if not re.fullmatch(r"https?://[!-~]+", self.url):
            raise UsageError(
                f"{self.url!r} is not a URL that can be asked",
                hint="give the address of the service: https://HOST or http://HOST:PORT",
            )
        if self.token and not re.fullmatch("[!-~]+", self.token.reveal()):
            raise UsageError(
                "the identity token is empty or holds characters that no header can carry",
                hint="get a new one: `gcloud auth print-identity-token`",
                place=self.url,
            )
        if not self.token_deadline_s > 0:
            raise UsageError(
                f"the token deadline is {self.token_deadline_s:g} s, and must be above 0 s",
                hint="set rollout.token_deadline to a duration such as 60s",
                place=self.url,
            )

    @property
    def asked(self) -> tuple[ModelAsked, ...]:
        """The models that must show a token: the default ones, or all where none is marked."""
        return tuple(model for model in self.models if model.default) or self.models
