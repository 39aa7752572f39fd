"""Prints what the mesh costs, as ratios to other proxies in one run on this machine.

    python scripts/bench_mesh.py [--against litellm,vllm-router --bin VENV/bin] [--quick]

All stand before one engine that costs nothing. Each has one core to itself; client and engine share
another. Costs are processor time, so what a core could do is 1 / cost. Rounds are run in turn,
A B C A B C, and the median counts. Absolute numbers say nothing on another machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mesh_bench.costs import added_ms, medians, request_us, word_us
from mesh_bench.endurance import growth, held_bytes
from mesh_bench.subjects import OTHER_CORE, RIVALS, Rig, Subject
from mesh_bench.swap import swap_ms

MIB = 2**20


def main() -> None:
    """Every table."""
    asked = arguments()
    os.sched_setaffinity(0, {OTHER_CORE})
    with tempfile.TemporaryDirectory() as folder, Rig(Path(folder)) as rig:
        mesh = rig.mesh()
        subjects = [rig.own("splice"), rig.own("relay"), mesh]
        subjects += [RIVALS[name](rig, asked.bin) for name in asked.against]
        rounds = 2 if asked.quick else 5
        table("request, no stream", medians(request_us, subjects, rounds))
        table("word of a stream", medians(word_us, subjects, rounds))
        latencies(rig, subjects, 300 if asked.quick else 2000)
        memory(mesh, 10_000 if asked.quick else 100_000)
        alone, swapped = swap_ms(rig, 3 if asked.quick else 7)
        print(f"\nswap: {swapped:.0f} ms, of which the engine's own load {alone:.0f} ms:")
        print(f"{swapped - alone:8.0f} ms added")


def arguments() -> argparse.Namespace:
    """What is measured against whom."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", type=lambda text: text.split(","), default=[])
    parser.add_argument("--bin", type=Path, help="the folder that holds the rivals' programs")
    parser.add_argument("--quick", action="store_true", help="less work, less exact")
    asked = parser.parse_args()
    unknown = [name for name in asked.against if name not in RIVALS]
    if unknown or (asked.against and asked.bin is None):
        parser.error(f"--against takes {','.join(RIVALS)}, and --bin where they are installed")
    return asked


def table(what: str, costs: dict[str, float]) -> None:
    """Microseconds of a core, how many a core could do, and the mesh's share of that."""
    print(f"\n{what:20} {'us':>8} {'k/s a core':>11} {'the mesh does':>14}")
    for name, us in costs.items():
        print(f"  {name:18} {us:8.1f} {1000 / us:11.2f} {us / costs['mesh']:13.2f}x", flush=True)


def latencies(rig: Rig, subjects: Sequence[Subject], count: int) -> None:
    """What each adds to the median."""
    print("\nadded to the median of one request at a time")
    for subject in subjects:
        some = count // 10 if subject.name == "litellm" else count
        print(f"  {subject.name:18} {added_ms(subject, rig.upstream, some):8.2f} ms", flush=True)


def memory(mesh: Subject, requests: int) -> None:
    """For 1,000 streams that wait, and over many requests."""
    before, held = held_bytes(mesh, 1000)
    print(f"\n1,000 held streams: {held / MIB:.0f} MiB, {(held - before) / MIB:.0f} of them added")
    warm, after = growth(mesh, requests)
    print(
        f"{requests:,} requests: {warm / MIB:.1f} MiB before, {after / MIB:.1f} after", flush=True
    )


if __name__ == "__main__":
    main()
