"""Requests a minute: counted by project, region and kind, in a window that moves."""

from __future__ import annotations

import pytest

from meshctl.emulator.failures import ApiError
from meshctl.emulator.rates import Rates
from meshctl.emulator.settings import Settings

HERE = "/v2/projects/p/locations/l/services"
ELSEWHERE = "/v2/projects/p/locations/m/services"


class Clock:
    """A clock that stands until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_request_over_the_limit_is_429_until_the_window_has_moved() -> None:
    clock = Clock()
    rates = Rates(Settings(writes_per_minute=2), clock)
    rates.take("PATCH", HERE)
    clock.now = 30
    rates.take("POST", HERE)

    with pytest.raises(ApiError) as refused:
        rates.take("DELETE", HERE)
    clock.now = 60
    rates.take("DELETE", HERE)

    assert refused.value.http == 429
    with pytest.raises(ApiError):
        rates.take("DELETE", HERE)


def test_reads_other_regions_and_other_services_have_counts_of_their_own() -> None:
    rates = Rates(Settings(writes_per_minute=1), Clock())
    rates.take("PATCH", HERE)

    for method, path in (("GET", HERE), ("PATCH", ELSEWHERE), ("POST", "/v1/projects/p/builds")):
        rates.take(method, path)

    with pytest.raises(ApiError):
        rates.take("PATCH", HERE)
