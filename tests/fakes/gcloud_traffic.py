"""What `gcloud run` does with the rows of a split, written down from facts/cloud-run section 2.

It shares no code with meshctl's own arithmetic, and reckons in fractions where that reckons in
whole numbers: a row is (revision or LATEST, percent, tag).
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

LATEST = "LATEST"
Row = tuple[str, int, str | None]
Rows = list[Row]


def update_traffic(rows: Rows, asked: dict[str, int]) -> Rows:
    """`update-traffic --to-revisions` (`--to-tags` with the tags resolved, `--to-latest` as
    {LATEST: 100}). Raises ValueError where gcloud refuses."""
    serving: dict[str, int] = {}
    for revision, percent, _ in rows:
        if percent:
            serving[revision] = serving.get(revision, 0) + percent
    given = sum(asked.values())
    rest = {revision: percent for revision, percent in serving.items() if revision not in asked}
    if sum(serving.values()) != 100 or given > 100 or (not rest and given != 100):
        raise ValueError("the percents do not add up")
    shares = {r: Fraction(p * (100 - given), sum(rest.values())) for r, p in rest.items()}
    new = {r: p for r, p in (asked | _rounded(shares)).items() if p}
    return [*((r, new[r], None) for r in sorted(new, key=_order)), *_tag_rows(rows)]


def _rounded(shares: dict[str, Fraction]) -> dict[str, int]:
    """Floors, then the missing points to the largest fractions; ties to the smaller share, then
    to the smaller name."""
    whole = {revision: floor(share) for revision, share in shares.items()}
    missing = round(sum(shares.values())) - sum(whole.values())
    order = sorted(shares, key=lambda r: (whole[r] - shares[r], shares[r], _order(r)))
    return whole | {revision: whole[revision] + 1 for revision in order[:missing]}


def set_tag(rows: Rows, tag: str, revision: str) -> Rows:
    """`update-traffic --set-tags TAG=REVISION`: moving a tag is removing and adding it."""
    return [*remove_tag(rows, tag), (revision, 0, tag)]


def remove_tag(rows: Rows, tag: str) -> Rows:
    """`update-traffic --remove-tags TAG`; empty traffic is LATEST 100 first."""
    stripped = [(r, p, None if t == tag else t) for r, p, t in rows or [(LATEST, 100, None)]]
    return [row for row in stripped if row[1] or row[2]]


def no_traffic(rows: Rows, latest_ready: str) -> Rows:
    """`deploy --no-traffic`: what LATEST has goes to the revision that it stands for now."""
    shares: dict[str, int] = {}
    for revision, percent, _ in rows or [(LATEST, 100, None)]:
        name = latest_ready if revision == LATEST else revision
        if percent:
            shares[name] = shares.get(name, 0) + percent
    return [*((r, shares[r], None) for r in sorted(shares, key=_order)), *_tag_rows(rows)]


def _tag_rows(rows: Rows) -> Rows:
    return [(revision, 0, tag) for revision, _, tag in rows if tag]


def _order(revision: str) -> tuple[bool, str]:
    return revision == LATEST, revision
