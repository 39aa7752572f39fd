"""`meshctl bench run`, `compare` and `report`: how fast a running release is, and whether to
believe it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from meshctl.cli.bench_subject import named, subject
from meshctl.cli.world import World, world_of
from meshctl.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from meshctl.bench.analyse import Analysis
    from meshctl.bench.run import Doors
    from meshctl.bench.session import Session
    from meshctl.bench.workload import Workload
    from meshctl.ui.bench import Bench

MODEL = typer.Option(None, "--model", metavar="NAME", help="The first one listed by default.")
REPEATS = typer.Option(5, "--repeats", help="Pairs of answers; 5 or more.")
TOKENS = typer.Option("128,384", "--tokens", metavar="N1,N2", help="The two lengths of answer.")
DEPTHS = typer.Option("256,768", "--depths", metavar="N,N", help="Prompts for prefill; or none.")
BUDGET = typer.Option(None, "--budget", metavar="FILE", help="What is good; a YAML file.")
GATE = typer.Option(None, "--gate", metavar="GRADE", help="Exit 9 below this grade.")
PAYLOAD = typer.Option("", "--payload", metavar="NAME", help="Of the budget; else the model.")
HARDWARE = typer.Option("", "--hardware", metavar="NAME", help="What it runs on, as you call it.")
PAGE = typer.Option(None, "--html", metavar="FILE", help="Write a page with plots, too.")


def run(
    ctx: typer.Context,
    service: str | None = typer.Argument(None, metavar="[SERVICE]", help="A service."),
    url: str | None = typer.Option(None, "--url", metavar="URL", help="Any OpenAI-like server."),
    model: str | None = MODEL,
    repeats: int = REPEATS,
    tokens: str = TOKENS,
    depths: str = DEPTHS,
    raw: Path | None = typer.Option(None, "--raw", metavar="FILE", help="Keep every piece."),
    page: Path | None = PAGE,
    budget: Path | None = BUDGET,
    gate: str | None = GATE,
    payload: str = PAYLOAD,
    hardware: str = HARDWARE,
) -> int:
    """Measure how fast a running release decodes and prefills, and how long the first token takes.

    Changes nothing, but keeps the service busy for a while. Exits 9 when the numbers are worth
    nothing, with the reasons, and when they are below --gate. A token for --url is read from
    MESHCTL_BENCH_TOKEN.
    """
    from meshctl.bench.raw import write_raw
    from meshctl.bench.run import bench

    world, what = world_of(ctx), named(service, url)
    workload = _workload(repeats, tokens, depths)
    _refuse_gate_alone(gate, budget)
    with subject(world, what, model) as (endpoint, about):
        known = hardware or str(about.get("hardware") or "")
        facts = {**about, **_facts(world, known)}
        session = bench(endpoint, workload, _doors(world), facts)
    if raw is not None:
        _write(raw, write_raw(session))
    return _show(world, session, page, budget, gate, payload, hardware)


def report(
    ctx: typer.Context,
    recording: Path = typer.Argument(..., metavar="FILE", help="What `bench run --raw` wrote."),
    page: Path | None = PAGE,
    budget: Path | None = BUDGET,
    gate: str | None = GATE,
    payload: str = PAYLOAD,
    hardware: str = HARDWARE,
) -> int:
    """Compute the numbers of a recording anew, and draw them; asks nobody."""
    world = world_of(ctx)
    _refuse_gate_alone(gate, budget)
    return _show(world, _recording(recording), page, budget, gate, payload, hardware)


def compare(
    ctx: typer.Context,
    a: str = typer.Argument(..., metavar="A", help="A service, a URL or a recording."),
    b: str = typer.Argument(..., metavar="B", help="The same; both recordings, or none."),
    model: str | None = MODEL,
    repeats: int = REPEATS,
    tokens: str = TOKENS,
) -> int:
    """Say whether A decodes faster than B, or how small a difference could not have been seen.

    Services and URLs are asked in turns, so that whatever drifts strikes both. Exits 9 when one of
    the two is worth nothing.
    """
    from meshctl.bench.compare import compare as compared
    from meshctl.ui.bench import compare_document

    world = world_of(ctx)
    files = [name.endswith(".jsonl") for name in (a, b)]
    if all(files):
        one, other = _recording(Path(a)), _recording(Path(b))
    elif any(files):
        hint = "record the other one, too: `meshctl bench run --raw FILE.jsonl`"
        raise UsageError("a recording and a live service cannot be compared", hint=hint)
    else:
        one, other = _both(world, a, b, model, _workload(repeats, tokens, "none"))
    document = compare_document(compared(one, other, interleaved=not all(files)))
    world.output.show(document)
    return 0 if document.valid else CheckFailed.exit_code


def _both(
    world: World, a: str, b: str, model: str | None, workload: Workload
) -> tuple[Session, Session]:
    from meshctl.bench.run import bench_both

    with subject(world, a, model) as (of_a, _), subject(world, b, model) as (of_b, _):
        one, other = bench_both((of_a, of_b), workload, _doors(world), _facts(world, ""))
    return one, other


def _show(
    world: World, session: Session, page: Path | None, budget: Path | None, gate: str | None,
    payload: str, hardware: str,
) -> int:  # fmt: skip
    from meshctl.bench.analyse import analyse
    from meshctl.bench.grade import below
    from meshctl.ui.bench import bench_document

    found = analyse(session)
    grade = _grade(budget, session, found, payload, hardware) if budget else None
    document = bench_document(session, found, grade)
    failed = not document.valid or (gate is not None and below(grade or "F", gate))
    if page is not None:
        _draw(page, document)
    world.output.show(document)
    return CheckFailed.exit_code if failed else 0


def _grade(budget: Path, session: Session, found: Analysis, payload: str, hardware: str) -> str:
    import yaml

    from meshctl.bench.grade import grade
    from meshctl.outside.textfile import read_text

    text = read_text(budget)
    if text is None:
        raise UsageError("there is no budget file", place=str(budget), hint="see docs/bench.md")
    try:
        value: Any = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(
            "the budget file is no YAML", place=str(budget), hint=str(error)
        ) from error
    seen = session.provenance
    payload = payload or str(seen.get("model") or "")
    hardware = hardware or str(seen.get("hardware") or "")
    return grade(value, payload, hardware, found, str(budget))


def _workload(repeats: int, tokens: str, depths: str) -> Workload:
    from meshctl.bench.workload import Workload

    lengths = _numbers("--tokens", tokens)
    if len(lengths) != 2:
        raise UsageError(f"--tokens {tokens} are not two lengths", hint="such as 128,384")
    deep = () if depths == "none" else _numbers("--depths", depths)
    return Workload(lengths=(lengths[0], lengths[1]), depths=deep, repeats=repeats)


def _numbers(name: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"{name} {text!r} is no list of numbers", hint="such as 256,768"
        ) from error


def _refuse_gate_alone(gate: str | None, budget: Path | None) -> None:
    from meshctl.bench.grade import below

    if gate is None:
        return
    below("A", gate)
    if budget is None:
        raise UsageError("--gate needs a budget to grade by", hint="name it with --budget FILE")


def _doors(world: World) -> Doors:
    from meshctl.bench.run import Doors
    from meshctl.outside.chance import salt
    from meshctl.outside.streams import RealStreams

    seed = f"{world.clock.now().isoformat()}.{salt()}"
    return Doors(RealStreams(), world.http, seed, world.output.progress)


def _facts(world: World, hardware: str) -> dict[str, str | float | None]:
    from meshctl import __version__
    from meshctl.outside.clock import rfc3339
    from meshctl.outside.streams import load_per_core

    return {
        "at": rfc3339(world.clock.now()),
        "hardware": hardware or None,
        "client": f"meshctl {__version__}",
        "client_load_per_core": round(load_per_core(), 2),
    }


def _recording(path: Path) -> Session:
    from meshctl.bench.raw import read_raw
    from meshctl.outside.textfile import read_text

    text = read_text(path)
    if text is None:
        raise UsageError(
            "there is no such recording",
            place=str(path),
            hint="make one: `meshctl bench run --raw FILE.jsonl`",
        )
    return read_raw(text, str(path))


def _draw(path: Path, document: Bench) -> None:
    from meshctl.ui.render.bench_report import bench_page

    _write(path, bench_page(document))


def _write(path: Path, text: str) -> None:
    from meshctl.outside.textfile import read_text, write_text

    write_text(path, text, was=read_text(path))
