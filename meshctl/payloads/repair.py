"""Puts the right bytes in the place of a file that is bad, which stays until they are proved."""

from __future__ import annotations

from dataclasses import replace

from meshctl.errors import Refused
from meshctl.outside.moves import remove_empty, swap
from meshctl.payloads.fetch import fetch
from meshctl.payloads.manifest import manifest_path
from meshctl.payloads.wanted import Fetched, Hands, Wanted


def repair(wanted: Wanted, hands: Hands) -> Fetched:
    """Fetch it beside the bad file, then change the two at once: whoever opens the name finds one
    or the other. A repair that was cut short goes on where it was. Raises as `fetch` does."""
    if wanted.to.is_symlink():
        raise Refused(
            f"it is a link to {wanted.to.readlink()}",
            place=str(wanted.to),
            hint="repair the file itself",
        )
    if not wanted.to.exists():
        return fetch(wanted, hands)
    aside = wanted.to.parent / f".{wanted.to.name}.repair"
    new = aside / wanted.to.name
    found = fetch(replace(wanted, to=new), hands)
    swap(new, wanted.to, (manifest_path(new), manifest_path(wanted.to)))
    remove_empty(aside)
    return replace(found, path=wanted.to)
