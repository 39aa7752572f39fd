"""Remembered boots of models on an L4, as their logs were recorded."""

from __future__ import annotations

from dataclasses import replace

from meshctl.budget.answer import Part, parts_of
from meshctl.budget.boot import boot_of_log
from meshctl.budget.boot_compare import record_of
from meshctl.budget.card import Card
from meshctl.budget.tenants import Tenant
from meshctl.state.boot import Boot, BootRecord
from tests.unit.budget.known_models import L4

PAYLOAD = "1" * 64
AT = "2026-11-30T20:45:12.000000Z"


def part_of(one: Tenant, card: Card = L4) -> Part:
    return parts_of([one], card)[0]


def booted(one: Tenant, log: str, card: Card = L4, at: str = AT) -> BootRecord:
    """What is remembered of a model that said this."""
    measured: Boot = boot_of_log(one.engine, log.splitlines())
    record = record_of(part_of(one, card), card, PAYLOAD, at, measured)
    assert record is not None
    return record


def knowing(one: Tenant, *records: BootRecord) -> Tenant:
    """The same model, of whose files these boots are remembered."""
    assert one.weights is not None
    return replace(one, weights=replace(one.weights, boots=records))
