"""Which checks each battery asks, so that a fleet file can be held to their names. Pure."""

from __future__ import annotations

BATTERIES: dict[str, tuple[str, ...]] = {
    "contract": ("reachable", "identity", "model-listed", "completion", "stream"),
    "mesh": (),
}
"""The checks of each battery, in the order they are asked.

contract: what every OpenAI-compatible endpoint owes its clients. Tools, a two-turn tool loop,
reasoning, vision and the declared context come with later versions.
mesh: what only a mesh can show. It adds nothing yet; two streams at once (the queued one is
accepted, kept alive and completed) and answering through a change of model come later.
"""


def names() -> tuple[str, ...]:
    """Everything that `checks` may name: batteries, then single checks."""
    single = (check for battery in BATTERIES.values() for check in battery)
    return tuple(dict.fromkeys((*BATTERIES, *single)))


def asks_nothing(chosen: tuple[str, ...]) -> bool:
    """Whether these names, all known, stand for no check at all."""
    return not any(BATTERIES.get(name, (name,)) for name in chosen)
