"""Whether the cards that a release needs are there, free, and reach into its container. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.quantities import show_bytes
from meshctl.targets.podman.readings.gpu import CardSeen, Pool
from meshctl.targets.podman.readings.host import HostSeen
from meshctl.targets.podman.readings.need import CardNeed, GateFinding, Need, Verdict, unclear
from meshctl.targets.podman.readings.value import Known, Unknown


def card_gates(
    seen: HostSeen, need: Need, ours: frozenset[int] = frozenset()
) -> Iterator[GateFinding]:
    """For each kind of card: is it there and free, and does it reach into a container."""
    for wanted in need.cards:
        if isinstance(seen.cards, Unknown):
            yield unclear(f"card {wanted.name}", seen.cards, "look at the driver: `dmesg`")
            continue
        of_vendor = [card for card in seen.cards.value if card.vendor == wanted.vendor]
        pools = [
            (card, _freed(seen, card, card.pool(need.unified_memory), ours)) for card in of_vendor
        ]
        yield _card(pools, wanted, bool(ours))
        yield _container_device(seen, wanted)


def _card(
    pools: list[tuple[CardSeen, Known[Pool] | Unknown]], wanted: CardNeed, replaces: bool
) -> GateFinding:
    """Cards are told apart by their memory: tools spell names in many ways, or not at all."""
    name = f"card {wanted.name}"
    fits = [pool for _, pool in pools if isinstance(pool, Known) and _is(pool.value, wanted)]
    free = [pool for pool in fits if pool.value.free_bytes >= wanted.free_bytes]
    unread = [(card, pool) for card, pool in pools if isinstance(pool, Unknown)]
    said = ", ".join(f"{card.name}: {_said(pool)}" for card, pool in pools)
    said = said or f"no card of {wanted.vendor}"
    if any(card.slices for card, _ in pools):
        hint = "name the MIG slice in the fleet file, or switch MIG off"
        return GateFinding(name=name, verdict="unclear", evidence=f"{said}; MIG is on", hint=hint)
    if len(free) >= wanted.count:
        return GateFinding(name=name, verdict="pass", evidence=said)
    untold = replaces and wanted.vendor == "amd" and len(fits) >= wanted.count
    if untold or len(free) + len(unread) >= wanted.count:
        return GateFinding(name=name, verdict="unclear", evidence=said, hint="look with -v")
    hint = "look at the driver, and at `gpus` of the target in the fleet file"
    if len(fits) >= wanted.count:
        hint = "see what holds it, with `nvidia-smi` or `rocm-smi --showpids`"
    return GateFinding(name=name, verdict="fail", evidence=said, hint=hint)


def _freed(
    seen: HostSeen, card: CardSeen, pool: Known[Pool] | Unknown, ours: frozenset[int]
) -> Known[Pool] | Unknown:
    """The pool as it is once the processes that are replaced have gone from it."""
    mine = [app for app in seen.apps if app.pid in ours and app.card == card.id]
    if isinstance(pool, Unknown) or not mine:
        return pool
    taken = max(pool.value.used_bytes - sum(app.used_bytes or 0 for app in mine), 0)
    value = Pool(total_bytes=pool.value.total_bytes, used_bytes=taken)
    return Known[Pool](value=value, source=pool.source)


def _is(pool: Pool, wanted: CardNeed) -> bool:
    """Within a tenth: ECC, firmware and marketing take up to 6 % (facts/budget section 4)."""
    return abs(pool.total_bytes - wanted.total_bytes) <= wanted.total_bytes // 10


def _container_device(seen: HostSeen, wanted: CardNeed) -> GateFinding:
    """What passes the card into a container: CDI for NVIDIA, device files for AMD."""
    if wanted.vendor == "nvidia":
        found = "nvidia.com/gpu" in seen.cdi and not _outdated(seen)
        said = f"CDI kinds: {', '.join(seen.cdi) or 'none'}{_outdated(seen)}"
        hint = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    else:
        renders = any(one.startswith("/dev/dri/renderD") for one in seen.devices)
        found = "/dev/kfd" in seen.devices and renders
        said = f"device files: {', '.join(seen.devices) or 'none'}"
        hint = "load the driver: `modprobe amdgpu`"
    name = f"container device {wanted.vendor}"
    if found:
        return GateFinding(name=name, verdict="pass", evidence=said)
    verdict: Verdict = "fail" if seen.whole else "unclear"
    return GateFinding(name=name, verdict=verdict, evidence=said, hint=hint)


def _outdated(seen: HostSeen) -> str:
    """An upgrade of the driver leaves the CDI file behind: containers then lack their libraries."""
    if isinstance(seen.driver, Unknown) or not seen.cdi_drivers:
        return ""
    if seen.driver.value in seen.cdi_drivers:
        return ""
    return f", made for driver {', '.join(seen.cdi_drivers)}, but {seen.driver.value} is loaded"


def _said(pool: Known[Pool] | Unknown) -> str:
    if isinstance(pool, Unknown):
        return pool.reason
    return f"{show_bytes(pool.value.free_bytes)} of {show_bytes(pool.value.total_bytes)} free"
