"""What an instance costs: list prices, dated and sourced, or the fleet's own. Pure.

How the table came about, so that the next reader can renew it. The four prices of cards in
us-central1, and those of processors and memory in tier 1, are the pricing page's, as several public
copies give it (the newest of 2026-09-28), and the same as the SKUs that the Cloud Billing catalogue
listed in 2026-08. The rest is marked as assumed: tier 2 is what older copies say, and cards
elsewhere are taken to cost what they cost in us-central1. Of other regions nothing is said. All of
it is for instance-based billing (a GPU allows no other), without discounts, free tier, egress and
taxes.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.plan.release import Template
from meshctl.spec.model import CloudRunTarget, Fleet, Frozen, GpuPrices, RegionPrices

AS_OF = "2026-09-28"
SOURCE = "https://cloud.google.com/run/pricing"

TIER_1 = RegionPrices(vcpu=0.000018, gib=0.000002)
TIER_2 = RegionPrices(vcpu=0.0000216, gib=0.0000024)
L4 = GpuPrices(without_redundancy=0.0001867, with_redundancy=0.0002909)
RTX_PRO_6000 = GpuPrices(without_redundancy=0.00036522, with_redundancy=0.00056913)
HOUR_S = 3600

PROCESSORS = ("vcpu", "gib")
CARDS = ("gpus",)
_CONFIRMED = (
    "asia-east1", "asia-northeast1", "asia-south1", "europe-north1", "europe-southwest1",
    "europe-west1", "europe-west4", "europe-west9", "me-west1", "us-central1", "us-east1",
    "us-east4",
)  # fmt: skip
_ASSUMED_TIER_1 = ("asia-northeast2", "europe-west8", "us-east5", "us-south1", "us-west1")
_ASSUMED_TIER_2 = (
    "asia-east2", "asia-northeast3", "asia-south2", "asia-southeast1", "asia-southeast2",
    "australia-southeast1", "australia-southeast2", "europe-central2", "europe-west2",
    "europe-west3", "europe-west6", "europe-west10", "europe-west12", "me-central1",
    "me-central2", "northamerica-northeast1", "northamerica-northeast2", "southamerica-east1",
    "southamerica-west1", "us-west2", "us-west3", "us-west4",
)  # fmt: skip
_GPUS = {
    "us-central1": {"nvidia-l4": L4, "nvidia-rtx-pro-6000": RTX_PRO_6000},
    "us-east4": {"nvidia-l4": L4},
    "europe-west1": {"nvidia-l4": L4},
    "europe-west4": {"nvidia-l4": L4, "nvidia-rtx-pro-6000": RTX_PRO_6000},
}
"""Cards by region as the GPU page lists them; only us-central1's prices are confirmed."""


class Prices(Frozen):
    """The prices of one region, since when they hold and who says so; USD per second.

    `assumed` names the groups of figures that nobody confirmed: vcpu, gib, gpus. Nobody sends a
    bill (`billed`) for what runs on an embedded cloud.
    """

    region: str
    as_of: str
    source: str
    rates: RegionPrices = RegionPrices()
    assumed: tuple[str, ...] = ()
    billed: bool = True

    def instance_usd_per_hour(self, template: Template) -> float | None:
        """One instance, used or idle; None where a price is missing, which is not nothing."""
        if template.cpu_idle:
            return None  # request-based billing has other prices, which are not in the table
        rates, gib = self.rates, template.memory_bytes / 2**30
        parts = [
            _product(rates.vcpu, _processors(template.cpu)),
            _product(rates.gib, gib),
            _card(rates, template) if template.gpu else 0.0,
        ]
        known = [part for part in parts if part is not None]
        return sum(known) * HOUR_S if len(known) == len(parts) else None

    def assumes(self, template: Template) -> bool:
        """Whether the price of such an instance rests on a figure that nobody confirmed."""
        needed = (*PROCESSORS, *(CARDS if template.gpu else ()))
        return any(group in self.assumed for group in needed)


def prices_of(fleet: Fleet, place: CloudRunTarget) -> Prices:
    """The fleet's own prices of the region, else the list prices; unknown where neither knows it.
    An embedded cloud has no others than the fleet's own."""
    own = fleet.prices
    if own and place.region in own.regions:
        rates = own.regions[place.region]
        return Prices(region=place.region, as_of=own.as_of, source=own.source, rates=rates)
    if place.emulator:
        return Prices(region=place.region, as_of=AS_OF, source=SOURCE, billed=False)
    return list_prices(place.region)


def list_prices(region: str) -> Prices:
    """What the table knows of a region."""
    gpus = _GPUS.get(region, {})
    assumed = list(CARDS) if gpus and region != "us-central1" else []
    tier = TIER_2 if region in _ASSUMED_TIER_2 else TIER_1
    if region not in (*_CONFIRMED, *_ASSUMED_TIER_1, *_ASSUMED_TIER_2):
        tier = RegionPrices()
    elif region not in _CONFIRMED:
        assumed += PROCESSORS
    rates = tier.model_copy(update={"gpus": gpus})
    return Prices(region=region, as_of=AS_OF, source=SOURCE, rates=rates, assumed=tuple(assumed))


def regions() -> Iterator[str]:
    """Every region that the table knows."""
    yield from (*_CONFIRMED, *_ASSUMED_TIER_1, *_ASSUMED_TIER_2)


def _card(rates: RegionPrices, template: Template) -> float | None:
    card = rates.gpus.get(template.gpu or "")
    if card is None:
        return None
    return card.with_redundancy if template.zonal_redundancy else card.without_redundancy


def _product(price: float | None, count: float) -> float | None:
    return None if price is None else price * count


def _processors(cpu: str) -> float:
    """`8` or `500m`, as a release spells them."""
    return float(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu)
