"""What became of the files that an image is built from since it was built. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from meshctl.state.builds import Built


@dataclass(frozen=True)
class SourceSeen:
    """The recipe and the context of an image against its newest build. `changed` are those of the
    two that differ, `unknown` says of the others why nobody knows; `begun` is a later build, of
    which nobody recorded the end."""

    changed: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    begun: Built | None = None


def notes(image: str, built: Built | None, source: SourceSeen | None) -> list[str]:
    """What a person should know before the newest build is deployed; nothing without one."""
    if built is None or source is None:
        return []
    found = [f"{under_way(source.begun)}: `meshctl build {image}` does"] if source.begun else []
    if source.changed:
        what = " and the ".join(source.changed)
        found.append(
            f"the {what} of image {image} changed since {built.tag} was built: "
            f"`meshctl build {image}`"
        )
    return found + [
        f"whether the {part} of image {image} changed since {built.tag} was built is unknown: "
        f"{why}; `meshctl build {image}` finds out"
        for part, why in source.unknown.items()
    ]


def under_way(begun: Built) -> str:
    """A build that runs, or ran: nobody looked."""
    return f"build {begun.build} of {begun.tag} was started and not followed to its end"
