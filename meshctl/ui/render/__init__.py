"""How each document looks to people: lines of text without colour. Pure."""

from __future__ import annotations

import json

from meshctl.ui import (
    answers,
    asked,
    bench,
    boot,
    budget,
    federation,
    host_check,
    host_sweep,
    hosts,
    payload_upkeep,
    payloads,
    states,
    upkeep,
)
from meshctl.ui import documents as ui
from meshctl.ui.render.adopt import adopt_lines
from meshctl.ui.render.bench import bench_lines, compare_lines
from meshctl.ui.render.budget import budget_lines
from meshctl.ui.render.budget_boot import budget_boot_lines
from meshctl.ui.render.cost import cost_lines
from meshctl.ui.render.env_diff import env_diff_lines
from meshctl.ui.render.explain import explain_lines
from meshctl.ui.render.findings import findings_lines
from meshctl.ui.render.gc import gc_lines
from meshctl.ui.render.history import history_lines
from meshctl.ui.render.host_check import host_check_lines
from meshctl.ui.render.host_sweep import host_sweep_lines
from meshctl.ui.render.hosts import host_exec_lines, hosts_lines
from meshctl.ui.render.logs import logs_lines
from meshctl.ui.render.payload import (
    payload_compare_lines,
    payload_fetch_lines,
    payload_lines,
    payload_publish_lines,
)
from meshctl.ui.render.payload_upkeep import payload_upkeep_lines
from meshctl.ui.render.peers import peers_lines
from meshctl.ui.render.plan import plan_lines
from meshctl.ui.render.quota import quota_lines
from meshctl.ui.render.rollout import rollout_lines
from meshctl.ui.render.small import (
    build_lines,
    demo_lines,
    emulator_lines,
    faults_lines,
    lock_lines,
)
from meshctl.ui.render.states import migration_lines, state_lines
from meshctl.ui.render.status import status_lines
from meshctl.ui.render.validate import validate_lines
from meshctl.ui.render.verify import verify_lines


def render(document: ui.Document, width: int = 80, verbose: bool = False) -> list[str]:
    """The lines of a document. Prose is wrapped at `width`; ids never are.

    `verbose` also shows what a reader of the run has seen already: every step and every check.
    """
    match document:
        case ui.Plan():
            return plan_lines(document, width)
        case ui.Rollout():
            return rollout_lines(document, width, verbose)
        case ui.Rollouts():
            blocks = (rollout_lines(one, width, verbose) for one in document.rollouts)
            return [line for block in blocks for line in (*block, "")][:-1]
        case federation.Peers():
            return peers_lines(document, width, verbose)
        case federation.EnvDiff():
            return env_diff_lines(document, width, verbose)
        case ui.Verify():
            return verify_lines(document, width)
        case ui.Validate():
            return validate_lines(document, width)
        case ui.Build():
            return build_lines(document)
        case ui.Emulator():
            return emulator_lines(document)
        case ui.Faults():
            return faults_lines(document)
    return _render_answer(document, width)


def _render_answer(document: ui.Document, width: int) -> list[str]:
    match document:
        case answers.Status():
            return status_lines(document, width)
        case answers.Adopt():
            return adopt_lines(document, width)
        case answers.History():
            return history_lines(document, width)
        case answers.Explain():
            return explain_lines(document, width)
        case answers.Locks():
            return lock_lines(document, width)
        case answers.Demo():
            return demo_lines(document)
        case budget.Budget():
            return budget_lines(document, width)
        case bench.Bench():
            return bench_lines(document, width)
        case bench.BenchCompare():
            return compare_lines(document, width)
        case boot.BudgetBoot():
            return budget_boot_lines(document, width)
        case asked.Quota():
            return quota_lines(document, width)
        case hosts.Hosts():
            return hosts_lines(document, width)
        case host_check.HostCheck():
            return host_check_lines(document, width)
        case host_sweep.HostSweep():
            return host_sweep_lines(document, width)
        case hosts.HostExec():
            return host_exec_lines(document)
        case asked.Logs():
            return logs_lines(document, width)
        case asked.Findings():
            return findings_lines(document, width)
        case states.State():
            return state_lines(document, width)
        case states.Migration():
            return migration_lines(document)
        case upkeep.Cost():
            return cost_lines(document, width)
        case upkeep.Gc():
            return gc_lines(document, width)
        case payloads.Payload():
            return payload_lines(document, width)
        case payloads.PayloadCompare():
            return payload_compare_lines(document, width)
        case payloads.PayloadFetch():
            return payload_fetch_lines(document, width)
        case payloads.PayloadPublish():
            return payload_publish_lines(document, width)
    if isinstance(document, payload_upkeep.Upkeep):
        return payload_upkeep_lines(document, width)
    return _render_text(document)


def _render_text(document: ui.Document) -> list[str]:
    match document:
        case ui.Example() | ui.Config():
            return document.text.rstrip("\n").split("\n")
        case ui.Schema():
            return json.dumps(document.schema_, indent=2).split("\n")
        case ui.Version():
            return [f"meshctl {document.version}"]
    raise AssertionError(f"{document.kind} has no look")
