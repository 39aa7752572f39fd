"""What every target can do: be observed, take one act, and say where a release answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from meshctl.plan.observed import ServiceSeen, TargetSeen
from meshctl.plan.steps import Act, CheckRelease
from meshctl.secret import Secret
from meshctl.state.evidence import Evidence


@dataclass(frozen=True)
class Address:
    """Where a release answers, and the token that opens the door when it is closed."""

    url: str
    token: Secret | None


Assure = Callable[[], None]
"""Raises LockHeld when the lock is lost: asked before every single write."""


def nothing() -> None:
    """The assurance of who needs none."""


Witness = Callable[[], Evidence | None]
"""Called when a release has been asked: what was seen of it from outside meanwhile, or None."""


class Target(Protocol):
    """A place that runs releases."""

    name: str

    def observe(self, services: Sequence[str], *, access: bool = True) -> TargetSeen:
        """One reading of the named services. An unreachable target is reported as unknown; without
        `access` nobody is asked who may call a service, which is then unknown."""
        ...

    def look(self, service: str) -> ServiceSeen | None:
        """One service without its access policy: the shortest reading, for acting at once."""
        ...

    def perform(self, service: str, act: Act, run: str, assure: Assure = nothing) -> dict[str, Any]:
        """Bring the act about; done twice it changes nothing more. What was seen, as evidence."""
        ...

    def address(self, service: str, check: CheckRelease) -> Address:
        """Where the release of a check answers."""
        ...

    def witness(self, service: str) -> Witness:
        """Look before a release is asked, and again when it was: a port that answers proves little
        of an engine that dies in between."""
        ...
