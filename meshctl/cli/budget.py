"""`meshctl budget show`: whether a model fits, of a service, a payload or a description."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from meshctl.cli.world import World, world_of
from meshctl.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from meshctl.ui.budget import Budget

DTYPES = "f16, bf16, fp8 (vLLM), q8_0 to q4_0 (llama.cpp)"


def show(
    ctx: typer.Context,
    what: str | None = typer.Argument(
        None, metavar="[WHAT]", help="A service, a payload, or a file as `payload inspect` takes."
    ),
    geometry: str | None = typer.Option(
        None, "--geometry", metavar="FILE", help="What is served and how; - reads it from stdin."
    ),
    on: str | None = typer.Option(None, "--on", metavar="TARGET", help="A target of the fleet."),
    gpu: str | None = typer.Option(
        None, "--gpu", metavar="CARD", help="A card instead, such as L4 or R9700x2."
    ),
    model: str | None = typer.Option(
        None, "--model", metavar="NAME", help="One model of the service alone."
    ),
    context: int | None = typer.Option(
        None, "--context", min=1, max=2**31, help="Tokens of one request."
    ),
    sequences: int | None = typer.Option(
        None, "--sequences", min=1, max=65_536, help="Requests at once."
    ),
    kv_dtype: str | None = typer.Option(
        None, "--kv-dtype", metavar="TYPE", help=f"What keys and values are kept in: {DTYPES}."
    ),
    engine: str | None = typer.Option(
        None, "--engine", metavar="NAME", help="llama-server or vllm, of a payload."
    ),
    engine_version: str | None = typer.Option(
        None, "--engine-version", metavar="VERSION", help="Whose rules hold, such as 0.19.1."
    ),
    picture: Path | None = typer.Option(
        None, "--picture", metavar="FILE.svg", help="Draw it, too."
    ),
    why: bool = typer.Option(False, "--why", help="Print the arithmetic line by line."),
) -> int:
    """Say whether a model fits on its card, what binds, how long a context could be, and what to
    give up first.

    Of a service the flags, the header of the payload and the card are put together; of a payload
    say --gpu or --on. FILE of --geometry is YAML or JSON, and nothing else is read then. Exits 0
    when it fits or is tight, and 9 when it does not or nobody can tell.
    """
    world = world_of(ctx)
    asked = {"--on": on, "--gpu": gpu, "--model": model, "--context": context,
             "--sequences": sequences, "--kv-dtype": kv_dtype, "--engine": engine,
             "--engine-version": engine_version}  # fmt: skip
    if geometry is not None:
        refuse_beside_geometry(what, asked)
        document = _of_description(world, geometry, why)
    elif what is None:
        hint = "`meshctl budget show chat`, or `meshctl budget show model.gguf --gpu L4`"
        raise UsageError("budget show: name a service or payload, or --geometry FILE", hint=hint)
    else:
        document = _of_subject(world, what, asked, why)
    if picture is not None:
        _draw(document, picture)
    world.output.show(document)
    return 0 if document.verdict in ("fits", "tight") else CheckFailed.exit_code


def refuse_beside_geometry(what: str | None, asked: dict[str, Any]) -> None:
    """A description says it all: what else is given would be left out in silence."""
    given = [name for name, value in {"WHAT": what, **asked}.items() if value is not None]
    if given:
        hint = "write it into the file, or leave --geometry out"
        raise UsageError(f"--geometry and {given[0]} do not go together", hint=hint)


def _of_description(world: World, path: str, why: bool) -> Budget:
    from meshctl.budget.read import budget_of_text
    from meshctl.ui.budget import budget_document

    text, name = _text(world, path)
    return budget_document(budget_of_text(text, name), explain=why)


def _of_subject(world: World, what: str, asked: dict[str, Any], why: bool) -> Budget:
    from meshctl.cli.budget_subject import answer_about
    from meshctl.ui.budget import answer_document

    return answer_document(answer_about(world, what, asked), explain=why)


def _draw(document: Budget, path: Path) -> None:
    """Raises UsageError where no file can be written."""
    from meshctl.outside.textfile import read_text, write_text
    from meshctl.ui.render.budget_picture import budget_picture

    write_text(path, budget_picture(document), was=read_text(path))


def _text(world: World, path: str) -> tuple[str, str]:
    """The text and what its places begin with. Raises UsageError."""
    name = "stdin" if path == "-" else path
    try:
        if path == "-":
            return world.output.stdin.read(), name
        return Path(path).read_text(encoding="utf-8"), name
    except UnicodeDecodeError as error:
        raise UsageError(
            "the geometry file is not UTF-8 text", place=name, hint="save it as UTF-8"
        ) from error
    except OSError as error:
        raise UsageError(
            f"the geometry file cannot be read: {error.strerror}",
            place=name,
            hint="name another one, or - for stdin",
        ) from error
