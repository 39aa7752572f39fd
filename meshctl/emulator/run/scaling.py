"""How many instances a revision keeps warm and may run: the arithmetic of both levels."""

from __future__ import annotations

from typing import Any

Rows = list[tuple[str, int, str]]  # revision, percent, tag


def _count(block: dict[str, Any], key: str) -> int:
    return int(block.get(key) or 0)


def service_minimum(scaling: dict[str, Any]) -> int:
    """What the service level asks to keep, divided by percent below."""
    if scaling.get("scalingMode") == "MANUAL":
        return _count(scaling, "manualInstanceCount")
    return _count(scaling, "minInstanceCount")


def shares(total: int, rows: Rows) -> dict[str, int]:
    """facts s3: proportional to percent, fractions in favour of the first-listed (3 -> 2 and 1)."""
    serving = [(name, percent) for name, percent, _ in rows if percent > 0]
    out: dict[str, int] = {}
    left = total
    for name, percent in serving:
        out[name] = out.get(name, 0) + total * percent // 100
        left -= total * percent // 100
    for name, percent in serving:
        if left > 0 and total * percent % 100:
            out[name] += 1
            left -= 1
    return out


def ceiling(service: dict[str, Any], revision: dict[str, Any], name: str, rows: Rows) -> int:
    """facts s3: the smaller of both maxima; 100 is the default per revision."""
    own = _count(revision, "maxInstanceCount") or 100
    if service.get("scalingMode") == "MANUAL":
        return max(shares(service_minimum(service), rows).get(name, 0), 1)
    share = shares(_count(service, "maxInstanceCount"), rows).get(name)
    limited = _count(service, "maxInstanceCount") > 0 and share is not None
    return min(own, max(share or 0, 1)) if limited else own


def floor(service: dict[str, Any], revision: dict[str, Any], name: str, rows: Rows) -> int:
    """facts s3: the larger of both minima, capped; the revision's counts when listed or tagged."""
    listed = any(name == row[0] for row in rows)
    own = _count(revision, "minInstanceCount") if listed else 0
    share = shares(service_minimum(service), rows).get(name, 0)
    return min(max(own, share), ceiling(service, revision, name, rows))
