"""`meshctl budget boot`: what a boot measured, against what was predicted of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from meshctl.cli.budget_boot_log import Log, log_of_file, log_of_service
from meshctl.cli.world import World, world_of
from meshctl.errors import CheckFailed, UsageError
from meshctl.outside.clock import rfc3339

if TYPE_CHECKING:
    from meshctl.budget.answer import Answer
    from meshctl.state.boot import Boot
    from meshctl.ui.boot import BudgetBoot

QUIET = (
    "the log does not say sizes, so there is nothing to remember: llama-server prints them with "
    "`-lv 4` (of a mesh: LLAMA_ARG_LOG_VERBOSITY=4 in the model's `env:`), vLLM as it comes"
)

QUIETLY = "is it the log of another engine, or of a later hour? A boot is at its beginning"
LONG_AGO = "perhaps it began longer ago: --since 7d; or hand the log over: --log FILE"


def boot(
    ctx: typer.Context,
    service: str | None = typer.Argument(None, metavar="[SERVICE]", help="Whose boot it is."),
    log: str | None = typer.Option(
        None, "--log", metavar="FILE", help="The engine's log instead; - reads it from stdin."
    ),
    model: str | None = typer.Option(None, "--model", metavar="NAME", help="One of its models."),
    on: str | None = typer.Option(None, "--on", metavar="TARGET", help="One of its targets."),
    revision: str | None = typer.Option(
        None, "--revision", metavar="NAME", help="Not the one that serves."
    ),
    since: str = typer.Option("24h", "--since", help="How far back: 10m, 24h, 7d."),
    no_record: bool = typer.Option(False, "--no-record", help="Do not remember it."),
) -> int:
    """Read what an engine printed while it started, compare it with what was predicted, and
    remember it for the next plan.

    The log is that of the revision that serves, or FILE; a FILE without a service is only read.
    Exits 9 for a boot that is none: a context that the engine shortened, layers that are not on
    the card, or an engine that did not come up.
    """
    world = world_of(ctx)
    if service is None:
        document = _of_log_alone(world, log, {"--model": model, "--on": on, "--revision": revision})
    else:
        if log is not None and revision is not None:
            raise UsageError("--log and --revision do not go together", hint="leave one out")
        answer = _answer(world, service, model, on)
        text = log_of_file(world, log) if log else None
        document = _compared(world, answer, text, (on, revision, since), record=not no_record)
    world.output.show(document)
    return CheckFailed.exit_code if document.findings else 0


def _of_log_alone(world: World, path: str | None, asked: dict[str, str | None]) -> BudgetBoot:
    from meshctl.budget.boot import boot_of_any, cause_of_log
    from meshctl.budget.boot_compare import findings_of, rows_alone
    from meshctl.ui.boot import BudgetBoot, boot_findings, boot_rows

    if path is None:
        hint = "`meshctl budget boot chat`, or `meshctl budget boot --log engine.log`"
        raise UsageError("budget boot: name a service, or --log FILE", hint=hint)
    if given := [name for name, value in asked.items() if value is not None]:
        raise UsageError(f"{given[0]} is for a service", hint="name the service, too")
    log = log_of_file(world, path)
    found = boot_of_any(log.lines)
    if found is None:
        raise _no_boot(log, "vLLM or llama-server", QUIETLY)
    engine, measured = found
    findings = findings_of(measured, cause_of_log(engine, log.lines), None, None)
    return BudgetBoot(
        subject=None, model=None, device=None, source=log.source, engine=engine,
        engine_version=measured.version, ready=measured.ready,
        rows=boot_rows(rows_alone(measured)), findings=boot_findings(findings), recorded=False,
        note="not remembered: of which service is it? `meshctl budget boot SERVICE --log FILE`",
    )  # fmt: skip


def _answer(world: World, service: str, model: str | None, on: str | None) -> Answer:
    """Raises UsageError for no service of the fleet, and for several models of which none is
    named."""
    from meshctl.cli.budget_subject import answer_about
    from meshctl.cli.pairs import pairs

    pairs(world.fleet(), [service])
    options = ("--gpu", "--context", "--sequences", "--kv-dtype", "--engine", "--engine-version")
    asked: dict[str, Any] = {"--on": on, "--model": model, **dict.fromkeys(options)}
    answer = answer_about(world, service, asked)
    names = [part.tenant.name for part in answer.parts]
    if model is None and len(names) > 1:
        hint = f"--model NAME, one of {', '.join(names)}"
        raise UsageError(f"{service} has several models, and each boots alone", hint=hint)
    return answer


def _compared(
    world: World,
    answer: Answer,
    log: Log | None,
    where: tuple[str | None, str | None, str],
    *,
    record: bool,
) -> BudgetBoot:
    from meshctl.budget.boot import READERS, boot_of_log, cause_of_log
    from meshctl.budget.boot_compare import findings_of, rows_of
    from meshctl.ui.boot import BudgetBoot, boot_findings, boot_rows

    tenant = answer.part.tenant
    if tenant.engine not in READERS:
        hint = f"known: {', '.join(READERS)}"
        raise UsageError(f"what a {tenant.engine} prints at its start is not known", hint=hint)
    handed, log = log is not None, log or log_of_service(world, answer, *where)
    measured = boot_of_log(tenant.engine, log.lines, tenant.name)
    if not measured.said_anything:
        raise _no_boot(log, tenant.engine, QUIETLY if handed else LONG_AGO)
    cause = cause_of_log(tenant.engine, log.lines, tenant.name)
    findings = findings_of(measured, cause, tenant, answer.card)
    kept, note = _remember(world, answer, measured) if record else (False, "not remembered")
    return BudgetBoot(
        subject=answer.subject, model=tenant.name, device=answer.card.spelled, source=log.source,
        engine=tenant.engine, engine_version=measured.version, ready=measured.ready,
        rows=boot_rows(rows_of(answer.part, answer.card, measured)),
        findings=boot_findings(findings), recorded=kept, note=note,
    )  # fmt: skip


def _remember(world: World, answer: Answer, measured: Boot) -> tuple[bool, str]:
    """Whether it was written down, and why not."""
    from meshctl.budget.boot_compare import record_of
    from meshctl.state.boots import payload_id, remember

    tenant, fleet = answer.part.tenant, world.fleet()
    name = fleet.services[answer.subject].models[tenant.name].payload
    assert name is not None, "a tenant has a payload"
    at = rfc3339(world.clock.now())
    record = record_of(answer.part, answer.card, payload_id(fleet.payloads[name]), at, measured)
    if record is None:
        why = "not remembered: " + (tenant.why or "no plan could go by such a boot")
        return False, QUIET if measured.ready and not measured.said_sizes else why
    remember(world.store(), record)
    return True, ""


def _no_boot(log: Log, engine: str, hint: str) -> CheckFailed:
    return CheckFailed(f"no boot of {engine} in it", place=log.source, hint=hint)
