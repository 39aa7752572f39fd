"""Reads the headers of a fleet's payloads, and what boots measured of them, each once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from meshctl.cli.world import World
from meshctl.errors import MeshctlError
from meshctl.spec.model import Fleet

if TYPE_CHECKING:
    from meshctl.rollout.headers import Headers

Read = Callable[[list[str]], "Headers"]
"""What the headers of these payloads say."""


def reading(world: World, fleet: Fleet) -> Read:
    """A few megabytes of each payload are read; what was read for one service serves the next."""
    known: Headers = {}

    def read(names: list[str]) -> Headers:
        from meshctl.cli.payload import doors_of
        from meshctl.rollout.headers import headers_of

        missing = [name for name in names if name not in known]
        found = headers_of(
            fleet, missing, lambda name: doors_of(world, name), world.output.progress
        )
        known.update(_with_boots(world, fleet, found))
        return {name: known[name] for name in names}

    return read


def _with_boots(world: World, fleet: Fleet, headers: Headers) -> Headers:
    """With the boots that are remembered of each; where they cannot be read it is worked out."""
    from meshctl.state.boots import boots_of, payload_id

    found = dict(headers)
    try:
        store = world.store(broken_file_ok=True)
        for name, weights in headers.items():
            if not isinstance(weights, str):
                boots = boots_of(store, payload_id(fleet.payloads[name]))
                found[name] = replace(weights, boots=boots)
    except MeshctlError as error:
        world.output.detail(f"no measured boots: {error.message} ({error.hint})")
    return found
