"""What `-o name` prints: the names of the things a document is about, one a line. Pure."""

from __future__ import annotations

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


def names(document: ui.Document) -> list[str]:
    """No line at all where nothing has a name."""
    match document:
        case ui.Plan() | answers.Status():
            return [entry.name for entry in document.services]
        case ui.Rollout() | answers.Explain():
            return [document.run] if document.run else []
        case ui.Rollouts():
            return [rollout.run for rollout in document.rollouts if rollout.run]
        case ui.Build():
            return [f"{document.image}@{document.digest}"] if document.digest else [document.build]
        case ui.Verify():
            return [document.verdict]
        case ui.Version():
            return [document.version]
        case ui.Emulator():
            return [document.url] if document.url else []
        case ui.Faults():
            return [fault.fault for fault in document.faults]
    return _more(document)


def _more(document: ui.Document) -> list[str]:
    match document:
        case answers.History():
            return [entry.release for entry in document.releases]
        case answers.Adopt():
            return [document.release]
        case answers.Locks():
            return [f"{lock.target}/{lock.service}" for lock in document.locks]
        case asked.Quota():
            return [f"{t.target}/{h.service}" for t in document.targets for h in t.holders]
        case federation.Peers():
            return [peer.name for peer in document.peers]
        case federation.EnvDiff():
            return [key.name for key in document.keys if key.state != "same"]
        case hosts.Hosts():
            return [host.name for host in document.hosts]
        case host_check.HostCheck():
            return [f"{h.name}/{s.name}" for h in document.hosts for s in h.services]
        case host_sweep.HostSweep():
            return [f"{host.name}/{one.order}" for host in document.hosts for one in host.things]
        case hosts.HostExec():
            return [answer.name for answer in document.answers if answer.code == 0]
        case asked.Logs():
            return [line.text for line in document.lines]
        case asked.Findings():
            return [finding.id for finding in document.findings]
        case answers.Demo():
            return [scene.name for scene in document.scenes]
        case states.State():
            return [problem.place for problem in document.problems]
        case states.Migration():
            return [*document.runs, *document.locks]
        case budget.Budget():
            return [document.verdict]
        case bench.Bench():
            return ["valid" if document.valid else "invalid"]
        case bench.BenchCompare():
            return [document.result if document.valid else "invalid"]
        case boot.BudgetBoot():
            return [finding.id for finding in document.findings] or ["booted"]
        case upkeep.Cost():
            return [entry.name for entry in document.services]
        case upkeep.Gc():
            tags = [f"{one.service}/{one.tag}" for one in document.tags if one.verdict == "stale"]
            return [*tags, *(one.name for one in document.services if one.verdict == "stale")]
        case payloads.Payload():
            return [document.source]
        case payloads.PayloadCompare():
            return [document.verdict]
        case payloads.PayloadPublish():
            return [file.to for file in document.files]
        case payloads.PayloadFetch() | payload_upkeep.PayloadVerify():
            return [file.path for file in document.files]
        case payload_upkeep.PayloadList():
            return [payload.name for payload in document.payloads]
        case payload_upkeep.PayloadRetire():
            return [row.item or row.path for row in document.items]
        case payload_upkeep.PayloadRestore() | payload_upkeep.PayloadPurge():
            return [row.item for row in document.items]
        case ui.Config():
            return list(document.fleet["services"])
        case ui.Validate():
            return [error.path or error.place for error in document.errors]
    return []
