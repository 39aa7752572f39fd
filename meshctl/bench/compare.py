"""Says whether one endpoint decodes faster than another, or that nobody could tell. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.bench.analyse import decode_rates, reasons
from meshctl.bench.estimate import Difference, apart, paired
from meshctl.bench.session import Session
from meshctl.bench.validity import Flaw


@dataclass(frozen=True)
class Comparison:
    """`difference` is None where too few pairs were left to say anything."""

    invalid: tuple[Flaw, ...]
    difference: Difference | None
    interleaved: bool


def compare(a: Session, b: Session, *, interleaved: bool) -> Comparison:
    """A against B by decode speed. Only questions asked in turns may be paired: two recordings of
    other hours differ by the hour, too."""
    invalid = [
        Flaw(flaw.id, f"{name}: {flaw.why}")
        for name, session in (("A", a), ("B", b))
        for flaw in reasons(session)
    ]
    if a.workload != b.workload:
        invalid.append(Flaw("other-workload", "A and B were not asked the same"))
    of_a, of_b = decode_rates(a), decode_rates(b)
    in_turns = interleaved and len(of_a) == len(of_b)
    found = paired(of_a, of_b) if in_turns else apart(of_a, of_b)
    return Comparison(tuple(invalid), found, interleaved)
