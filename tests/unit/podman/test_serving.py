"""A start, judged by what systemd says of the unit while it is waited for."""

from __future__ import annotations

import pytest

from meshctl.errors import Refused
from meshctl.plan.release import StartupProbe
from meshctl.targets.podman.readings.unit import UnitSeen
from meshctl.targets.podman.readings.value import Known
from meshctl.targets.podman.serving import Serving

PROBE = StartupProbe(path="/health", period_s=1, timeout_s=5, failures=60)


def unit(active: str, sub: str = "", *, restarts: int = 0, entered: int = 100) -> UnitSeen:
    return UnitSeen(
        name="chat.service", load="loaded", active=active, sub=sub, result="exit-code",
        restarts=Known[int](value=restarts), invocation="a" * 32, entered_us=entered,
    )  # fmt: skip


def judged(*readings: UnitSeen, at_s: float = 1.0) -> None:
    serving = Serving("chat.service", 0.0, PROBE)
    for reading in readings:
        serving.judge(reading, at_s, place="attic")


def test_a_unit_on_its_way_up_is_waited_for_whatever_it_was_before() -> None:
    """Until it is active, the time of its last active state is the stopped release's: taken for a
    second start, it once ended every other release of a container."""
    judged(unit("inactive"), unit("activating", entered=100), unit("active", entered=900))


@pytest.mark.parametrize(
    "reading",
    [unit("activating", "auto-restart"), unit("active", restarts=1), unit("failed")],
    ids=["waits-for-its-next-start", "was-restarted", "failed"],
)
def test_a_start_that_ends_by_itself_is_given_up_at_once(reading: UnitSeen) -> None:
    with pytest.raises(Refused):
        judged(reading)


def test_a_start_that_never_begins_is_given_up() -> None:
    judged(unit("inactive"), at_s=1.0)

    with pytest.raises(Refused, match="did not stay up"):
        judged(unit("inactive"), at_s=20.0)


def test_a_start_has_its_time_and_no_more() -> None:
    judged(unit("activating"), at_s=59.0)

    with pytest.raises(Refused, match="did not serve within 1m"):
        judged(unit("activating"), at_s=61.0)
