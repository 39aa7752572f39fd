"""One key that differs between what is and what is wanted. Pure."""

from __future__ import annotations

from meshctl.spec.model import Frozen


class Change(Frozen):
    """One key that differs; None when it is absent on that side."""

    path: str
    before: str | None
    after: str | None
