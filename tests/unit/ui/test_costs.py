"""A sum over prices that nobody knows is unknown, never nothing."""

from __future__ import annotations

from typing import Any

import pytest

from meshctl.observe.status import Status
from meshctl.ui.render import render
from meshctl.ui.tidy import cost_document
from tests.builders import seen


def status(**changed: Any) -> Status:
    given = {"name": "chat", "target": "local", "role": "standalone", "state": "READY"}
    return Status.model_validate({**given, **changed})


@pytest.mark.parametrize(
    ("found", "whole"),
    [
        ([status(seen=seen())], None),
        ([status(state="STOPPED")], 0.0),
        ([status(state="UNKNOWN")], None),
        ([status(state="STOPPED"), status(seen=seen())], None),
    ],
    ids=["runs without a price", "not deployed", "not observed", "one of each"],
)
def test_a_fleet_without_prices_has_no_sum_unless_nothing_runs(
    found: list[Status], whole: float | None
) -> None:
    document = cost_document(found)

    assert document.idle.usd_per_hour == document.full.usd_per_hour == whole


def test_what_would_be_said_below_several_services_is_said_once_below_all() -> None:
    runs = [status(name=name, seen=seen()) for name in ("chat", "talk")]

    lines = render(cost_document([*runs, status(name="planned", state="STOPPED")]))

    text = " ".join(" ".join(lines).split())
    assert text.count("sends no bill") == 1
    assert "! chat, talk: an embedded cloud sends no bill" in text
    assert "  ! not deployed" in lines
