"""A stretch of time in which something happened, where nobody knows the moment itself. Pure."""

from __future__ import annotations

from pydantic import Field

from meshctl.quantities import show_minute
from meshctl.spec.model import Frozen


class Period(Frozen):
    """It happened after `since` and not after `until`: a sum over an hour says no more."""

    since: str = Field(description="not before this moment")
    until: str = Field(description="not after this one")

    def __str__(self) -> str:
        """`between 2026-12-01 03:13 and 04:13 UTC`, the day of the end only where it is another."""
        since, until = show_minute(self.since), show_minute(self.until)
        if since[:11] == until[:11]:
            until = until[11:]
        return f"between {since.removesuffix(' UTC')} and {until}"
