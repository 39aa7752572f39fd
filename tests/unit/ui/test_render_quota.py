"""How the quota looks in 80 columns: known, unknown, and short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from meshctl.observe.quota import Rule, holdings
from meshctl.plan.period import Period
from meshctl.plan.pools import POOLS, Holder, Limit, Pool, QuotaSeen, Size
from meshctl.ui.asked import PoolEntry, Quota
from meshctl.ui.names import names
from meshctl.ui.quota import quota_entry, unread
from meshctl.ui.render import render
from tests.fakes.fake_quota import NOW

GIB = 2**30
L4, L4_ZONAL, RTX, _, CPU, MEMORY = POOLS
CARD = Size("nvidia-l4", False, 8000, 32 * GIB)
SMALL = Size(None, False, 500, GIB // 2)
RULE = Rule.of(NOW, 7 * 86400.0)
HOUR = Period(since="2026-11-30T19:00:00Z", until="2026-11-30T20:00:00Z")
SEEN = QuotaSeen(
    project="my-project",
    region="us-central1",
    limits=(
        Limit(L4, 3), Limit(L4_ZONAL, 0), Limit(RTX, 1), Limit(POOLS[3], None, unlimited=True),
        Limit(CPU, 400_000), Limit(MEMORY, 40 * GIB),
    ),
    holders=(
        Holder("chat", "chat-r1a2b3c4d5e-salt", CARD, 1, 1, 1, HOUR,
               "2026-11-01T00:00:00Z"),
        Holder("old-demo-of-the-spring", "old-demo-of-the-spring-00007-abc", CARD, 2, 3, 2, None,
               "2026-05-01T00:00:00Z"),
        Holder("front", "front-00001-abc", SMALL, 0, 10, 0, None, "2026-11-30T00:00:00Z"),
    ),
    running={},
)  # fmt: skip
BLIND = QuotaSeen(
    "my-project", "us-central1",
    tuple(Limit(pool, None, why="Cloud Quotas API has not been used in project my-project before "
                "or it is disabled. (PERMISSION_DENIED)") for pool in POOLS),
    (Holder("chat", "chat-r1a2b3c4d5e-salt", CARD, 1, 1, None),), None,
    "the caller does not have permission (PERMISSION_DENIED)",
    "the caller does not have permission (PERMISSION_DENIED)",
)  # fmt: skip


def entry(seen: QuotaSeen, wanted: dict[Pool, int] | None = None) -> Any:
    held = holdings(seen, {"chat": "chat", "front": "front"}, RULE)
    return quota_entry("gcp", seen, held, wanted or {}, RULE)


DOCUMENTS = {
    "quota": Quota(targets=(entry(SEEN, {L4: 1}),)),
    "quota-unknown": Quota(targets=(entry(BLIND),)),
    "quota-unreachable": Quota(targets=(unread("gcp", "my-project", "r", "no answer"),)),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_quota_looks_like_the_golden_one(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"ui/{name}", "\n".join(render(DOCUMENTS[name])) + "\n")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_only_a_command_to_copy_goes_beyond_80_columns(name: str) -> None:
    wide = [line for line in render(DOCUMENTS[name]) if len(line) > 80]

    assert [line for line in wide if "$ " not in line] == []


def pool(of: Pool, wanted: int = 0) -> PoolEntry:
    found: list[PoolEntry] = [one for one in entry(SEEN, {of: wanted}).pools if one.id == of.id]
    return found[0]


def test_a_pool_is_short_when_it_is_full_and_somebody_wants_of_it_or_too_small_for_one() -> None:
    assert pool(L4, 1).short, "full, and it is wanted"
    assert not pool(L4_ZONAL).short, "empty, and nobody wants any"
    assert pool(RTX, 2).short, "one service alone may take more than there is"
    assert not pool(RTX, 1).short


def test_the_request_asks_for_what_is_wanted_in_the_unit_of_the_quota() -> None:
    assert "--preferred-value=4000 " in pool(RTX, 4).request
    assert "--preferred-value=4 " in pool(L4, 1).request, "one more than there are"


def test_the_names_of_a_quota_are_who_holds_it() -> None:
    assert names(DOCUMENTS["quota"])[0] == "gcp/old-demo-of-the-spring"


def test_what_nobody_measured_is_a_least_number_in_use_and_a_most_one_free() -> None:
    known = QuotaSeen("p", "r", SEEN.limits, SEEN.holders, None, "API off")
    shown = render(Quota(targets=(entry(known),)))

    assert any(line.split() == ["nvidia-l4", "3", ">=", "3", "0"] for line in shown)
    assert any(line.split()[:4] == ["nvidia-rtx-pro-6000", "1", ">=", "0"] for line in shown)
