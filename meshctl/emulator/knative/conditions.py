"""Conditions as v1 spells them: True, False or Unknown, CamelCase reasons (facts s1). Pure."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
_STATUS = {"CONDITION_SUCCEEDED": "True", "CONDITION_FAILED": "False"}
_REASONS = ("reason", "revisionReason", "executionReason")


def to_v1(condition: Json) -> Json:
    """One condition of v2 as v1 shows it."""
    out: Json = {
        "type": condition["type"],
        "status": _STATUS.get(condition.get("state", ""), "Unknown"),
        "lastTransitionTime": condition.get("lastTransitionTime", ""),
    }
    reason = next((condition[key] for key in _REASONS if condition.get(key)), "")
    if reason:
        out["reason"] = "".join(word.capitalize() for word in reason.split("_"))
    if condition.get("message"):
        out["message"] = condition["message"]
    if condition.get("severity") in ("INFO", "WARNING"):
        out["severity"] = condition["severity"].capitalize()
    return out
