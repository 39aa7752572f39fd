"""Turns a diagnosis into its document. Pure."""

from __future__ import annotations

from meshctl.engines.diagnosis import Diagnosis
from meshctl.engines.finding import Finding
from meshctl.ui.asked import ComplaintEntry, FindingEntry, Findings


def findings_document(source: str, diagnosis: Diagnosis, note: str = "") -> Findings:
    """What is known; where that is no error, also what is left to look at."""
    known = diagnosis.root is not None
    complaint = None if known else diagnosis.complaint
    return Findings(
        source=source,
        lines_read=diagnosis.lines_read,
        findings=tuple(_entry(finding) for finding in diagnosis.findings),
        complaint=ComplaintEntry(**vars(complaint)) if complaint else None,
        last_lines=() if known else diagnosis.last_lines,
        note=note,
    )


def _entry(finding: Finding) -> FindingEntry:
    return FindingEntry(
        id=finding.id,
        cause=finding.signature.cause,
        phase=finding.phase,
        engine=finding.engine,
        severity=finding.severity,
        line=finding.line,
        line_number=finding.line_number,
        evidence=finding.evidence,
        remedy=finding.signature.remedy,
    )
