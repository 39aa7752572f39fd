"""`meshctl payload`: what a model file really is, and whether another can take its place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshctl.cli.world import World, world_of
from meshctl.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from meshctl.outside.gcp import Cloud
    from meshctl.outside.ranges_open import Doors
    from meshctl.payloads.compare import Side
    from meshctl.payloads.inspect import Inspection
    from meshctl.payloads.locate import Located
    from meshctl.spec.model import Payload

FORMS = "a file, hub:OWNER/NAME@COMMIT/FILE, gs:// s3:// r2:// http(s)://, or a payload's name"
BEARABLE = ("label", "unknown-type")
"""Problems that do not keep two headers from being compared."""


@dataclass(frozen=True)
class Subject:
    """What is asked about, and what the fleet file says of it."""

    text: str
    located: Located
    declared: Payload | None


def inspect(
    ctx: typer.Context,
    what: str = typer.Argument(metavar="WHAT", help=f"{FORMS[0].upper()}{FORMS[1:]}."),
    expect: str | None = typer.Option(
        None, "--expect", metavar="TYPE", help="Fail unless it really is that, such as q8_0."
    ),
    parameters: int | None = typer.Option(
        None, "--parameters", min=1, help="How many it has, where no header tells."
    ),
) -> int:
    """Say what a model file really is, from its header: a few megabytes of it are read.

    Sets of several files are read as sets. Exits 9 when something is wrong with it, or when it is
    not, or cannot be seen to be, what --expect says.
    """
    from meshctl.ui.payloads import payload_document

    world = world_of(ctx)
    found = _inspection(world, _subject(world, what), _known(expect), parameters)
    world.output.show(payload_document(found))
    return 0 if found.verdict == "pass" else 9


def compare(
    ctx: typer.Context,
    a: str = typer.Argument(metavar="A", help="What is there now."),
    b: str = typer.Argument(metavar="B", help="What may take its place."),
) -> int:
    """Say from their headers alone whether B can take the place of A, and which differences matter.

    Exits 0 for a drop-in, else 9. Neither is fetched.
    """
    from meshctl.payloads.compare import compare as differences_of
    from meshctl.ui.payloads import compare_document

    world = world_of(ctx)
    one, other = (_sound(world, text) for text in (a, b))
    verdict, differences = differences_of(_side(one), _side(other))
    world.output.show(compare_document(one.source, other.source, verdict, differences))
    return 0 if verdict == "drop-in" else 9


def _inspection(
    world: World, subject: Subject, expect: str | None, parameters: int | None
) -> Inspection:
    from meshctl.payloads.inspect import Wish
    from meshctl.payloads.inspect import inspect as read

    declared = subject.declared
    wish = Wish(
        expect=expect,
        format=declared.format if declared else None,
        parameters=parameters or (declared.parameters if declared else None),
    )
    world.output.progress(f"reading the header of {subject.text}")
    found = read(subject.located.folder, subject.located.name, wish)
    return _as_declared(found, declared) if declared else found


def _as_declared(found: Inspection, declared: Payload) -> Inspection:
    """The same, with a problem where the sizes are not those of the fleet file."""
    from dataclasses import replace

    from meshctl.payloads.header import Problem

    name = found.source.rpartition("/")[2]
    names = found.part.names() if found.part and found.part.prefix else [name]
    sizes = [f.bytes for path, f in declared.files.items() if path.rpartition("/")[2] in names]
    if found.bytes is None or len(sizes) != len(names) or sum(sizes) == found.bytes:
        return found
    message = f"the fleet file declares {sum(sizes):,} bytes, there are {found.bytes:,}"
    return replace(found, problems=(*found.problems, Problem("size", message)))


def _sound(world: World, text: str) -> Inspection:
    """A payload with a header. Raises CheckFailed for one that cannot be compared."""
    found = _inspection(world, _subject(world, text), None, None)
    wrong = [problem for problem in found.problems if problem.id not in BEARABLE]
    if wrong:
        raise CheckFailed(
            f"{wrong[0].id}: {wrong[0].message}", place=found.source,
            hint=f"see all that is wrong: `meshctl payload inspect {text}`",
        )  # fmt: skip
    if found.header is None:
        raise CheckFailed(
            f"a file of format {found.format} has no header that tells what it is",
            place=found.source,
            hint="compare sizes and digests instead",
        )
    return found


def _side(found: Inspection) -> Side:
    from meshctl.payloads.compare import Side

    assert found.header is not None, "_sound saw to it"
    return Side(found.header, found.bytes, found.part)


def _known(expect: str | None) -> str | None:
    from meshctl.payloads.ggml import base_of, labels
    from meshctl.spec.near import near

    if expect is not None and base_of(expect) is None:
        raise UsageError(f"--expect: no type {expect!r}", hint=near(expect.lower(), labels()))
    return expect


def _subject(world: World, text: str) -> Subject:
    """A file that is there comes before a payload of the fleet; `./NAME` is always a file."""
    from meshctl.payloads.locate import has_scheme, locate, locate_payload

    if has_scheme(text) or "/" in text or Path(text).exists() or not world.file.exists():
        return Subject(text, locate(text, doors_of(world, None)), None)
    payloads = world.fleet().payloads
    if text in payloads:
        doors = doors_of(world, text)
        return Subject(text, locate_payload(payloads[text], text, doors), payloads[text])
    from meshctl.spec.near import near

    raise UsageError(
        f"{text!r} is neither a file nor a payload of {world.file}",
        hint=f"{near(text, payloads)}; or give {FORMS}",
    )


def doors_of(world: World, payload: str | None) -> Doors:
    from meshctl.outside.ranges_open import Doors

    def cloud() -> Cloud | None:
        return _embedded(world, payload) if payload else None

    base = world.file.parent if payload else Path()
    return Doors(world.http, world.environ, world.clock, world.calls, base, cloud)


def _embedded(world: World, payload: str) -> Cloud | None:
    """The embedded cloud, where it runs what the payload is for: its buckets are there."""
    from meshctl.spec.model import CloudRunTarget

    fleet = world.fleet()
    for service in fleet.services.values():
        if any(model.payload == payload for model in service.models.values()):
            for name in service.target:
                target = fleet.targets[name]
                if isinstance(target, CloudRunTarget) and target.emulator:
                    return world.cloud_of(target)
    return None
