"""`meshctl validate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from meshctl.cli.world import World, world_of
from meshctl.errors import Problem, SpecError, UsageError
from meshctl.spec.model import Fleet
from meshctl.spec.peers import unwise
from meshctl.spec.tree import Complaint
from meshctl.ui.documents import ErrorEntry, Validate


def validate(ctx: typer.Context) -> int:
    """Say every mistake of the fleet file at once.

    Exits 0 when there is none and 64 otherwise. What is unwise is told, too, and changes nothing
    about that; so is a build whose recipe or context is not there. No cloud is asked.
    """
    world = world_of(ctx)
    problems = problems_of(world)
    entries = tuple(ErrorEntry(**vars(problem)) for problem in problems)
    warnings = () if problems else warnings_of(world.fleet(), world.file.parent)
    world.output.show(Validate(errors=entries, warnings=warnings))
    return UsageError.exit_code if problems else 0


def warnings_of(fleet: Fleet, folder: Path) -> tuple[ErrorEntry, ...]:
    """What is unwise in a fleet that is sound, and which of its images cannot be built from the
    files in `folder`: to deploy what is built already none of them is needed."""
    found = [*unwise(fleet), *_unbuildable(fleet, folder)]
    return tuple(ErrorEntry(place=fleet.place(one.path), **one._asdict()) for one in found)


def _unbuildable(fleet: Fleet, folder: Path) -> Iterator[Complaint]:
    from meshctl.build.recipe import read_recipe

    for name, image in fleet.images.items():
        if image.build is None:
            continue
        path, build = f"images.{name}.build", image.build
        try:
            read_recipe(folder / build.config, build, image.repository or "")
        except UsageError as wrong:
            yield Complaint(f"{path}.config", f"{build.config}: {wrong.message}", wrong.hint)
        if not (folder / build.context).is_dir():
            message = f"{build.context} is no folder beside the fleet file"
            yield Complaint(f"{path}.context", message, "name the folder that is to be packed")


def problems_of(world: World) -> tuple[Problem, ...]:
    """What is wrong with the fleet file; that it is missing or no text is one problem, too."""
    try:
        world.fleet()
    except SpecError as wrong:
        return wrong.problems
    except UsageError as unread:
        return (Problem(unread.place, "", unread.message, unread.hint),)
    return ()
