"""Gathers what the headers of payloads say of their weights, for a budget to be worked out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from meshctl.budget.weights import Weights, weights_of
from meshctl.errors import MeshctlError
from meshctl.outside.ranges_open import Doors
from meshctl.outside.several import several
from meshctl.payloads.inspect import Inspection, Wish, inspect
from meshctl.payloads.locate import locate_payload
from meshctl.payloads.sets import UNREAD
from meshctl.spec.model import Fleet

Headers = dict[str, "Weights | str"]
"""By payload: its weights, or why they are not known."""
AT_ONCE = 8
NOT_WHOLE = ("missing-part", "missing-tensor", "wrong-total", "damaged", UNREAD)
"""Problems after which nobody knows how large the whole model is."""


def headers_of(
    fleet: Fleet,
    payloads: Iterable[str],
    doors: Callable[[str], Doors],
    tell: Callable[[str], None],
) -> Headers:
    """Each of these payloads of the fleet; one that cannot be read hides no other."""
    names = sorted(set(payloads))

    def read(name: str) -> Weights | str:
        try:
            located = locate_payload(fleet.payloads[name], name, doors(name))
            tell(f"reading the header of {name}")
            wish = Wish(format=fleet.payloads[name].format)
            return weighed(inspect(located.folder, located.name, wish))
        except MeshctlError as error:
            return f"its header could not be read: {error.message}"

    return dict(zip(names, several(read, names, AT_ONCE), strict=True))


def weighed(found: Inspection) -> Weights | str:
    """The weights behind an inspection, or why they are not known."""
    wrong = [problem for problem in found.problems if problem.id in NOT_WHOLE]
    if found.header is None or wrong:
        told = wrong or list(found.problems)
        return f"{told[0].id}: {told[0].message}" if told else f"no header in a {found.format} file"
    return weights_of(found.header, found.bytes) or "the types of its tensors are unknown"
