"""What an instance costs, and what nobody knows."""

from __future__ import annotations

import pytest

from meshctl.plan.prices import list_prices, prices_of, regions
from meshctl.spec.model import PriceList
from tests.builders import fleet, place, template

OWN = {
    "as_of": "2026-11-30",
    "source": "a contract",
    "regions": {"local1": {"vcpu": 0.001, "gib": 0.0001}},
}


@pytest.mark.parametrize(
    ("gpu", "redundant", "cpu", "gib", "per_hour"),
    [
        ("nvidia-l4", False, "8", 32, 0.67212 + 8 * 0.0648 + 32 * 0.0072),
        ("nvidia-l4", True, "4", 16, 1.04724 + 4 * 0.0648 + 16 * 0.0072),
        ("nvidia-rtx-pro-6000", False, "20", 80, 1.314792 + 20 * 0.0648 + 80 * 0.0072),
        (None, False, "500m", 1, 0.0324 + 0.0072),
    ],
)
def test_an_instance_in_us_central1_costs_what_the_list_says(
    gpu: str | None, redundant: bool, cpu: str, gib: int, per_hour: float
) -> None:
    shape = template(gpu=gpu, zonal_redundancy=redundant, cpu=cpu, memory_bytes=gib * 2**30)

    assert list_prices("us-central1").instance_usd_per_hour(shape) == pytest.approx(per_hour)
    assert not list_prices("us-central1").assumes(shape)


def test_a_region_that_nobody_priced_is_unknown_and_not_free() -> None:
    assert list_prices("mars1").instance_usd_per_hour(template(gpu=None)) is None


def test_a_card_without_a_price_makes_the_whole_unknown() -> None:
    there = list_prices("asia-southeast1")

    assert there.instance_usd_per_hour(template(gpu="nvidia-l4")) is None
    assert there.instance_usd_per_hour(template(gpu=None)) is not None


def test_what_nobody_confirmed_is_called_assumed() -> None:
    l4, plain = template(gpu="nvidia-l4"), template(gpu=None)

    assert list_prices("europe-west4").assumes(l4)
    assert not list_prices("europe-west4").assumes(plain)
    assert list_prices("asia-southeast1").assumes(plain)


def test_request_based_billing_has_other_prices_and_is_unknown() -> None:
    assert list_prices("us-central1").instance_usd_per_hour(template(cpu_idle=True)) is None


def test_no_region_of_the_table_is_in_two_tiers() -> None:
    known = list(regions())

    assert len(known) == len(set(known))
    assert all(list_prices(region).rates.vcpu for region in known)


def test_the_fleets_own_prices_come_before_the_list() -> None:
    own = fleet().model_copy(update={"prices": PriceList.model_validate(OWN)})
    elsewhere = place().model_copy(update={"region": "us-central1"})

    mine, listed = prices_of(own, place()), prices_of(own, elsewhere)

    assert (mine.as_of, mine.source, mine.rates.vcpu) == ("2026-11-30", "a contract", 0.001)
    assert listed == list_prices("us-central1")


def test_nobody_sends_a_bill_for_an_embedded_cloud() -> None:
    embedded = place().model_copy(update={"emulator": True, "region": "us-central1"})

    free = prices_of(fleet(), embedded)

    assert not free.billed
    assert free.instance_usd_per_hour(template()) is None
