"""Death on either side of every write of a run, and what resume makes of it, by process.

MESHCTL_DRILL kills the process round its N-th write: the lock is the first, then come the events of
the journal. Each lane is a service of its own that dies at every other N of one side, so that four
lanes together have died everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.emulator.bench import Bench, client

SIDES = ("before", "after")
KILLED = -9


def sweep(
    bench: Bench, side: str, first: int, code: int, ended: Callable[[Bench, Any], None]
) -> int:
    """Kill a deploy round write `first`, the next but one, and so on until one lives to its end
    with `code`; go on with each and see that it ended as if nothing had happened. The last N."""
    number = first
    while True:
        bench.env(COLOUR=f"{side}-{number}")
        done = bench.meshctl("deploy", "chat", "-y", MESHCTL_DRILL=f"{side}:{number}")
        if done.code == code:
            return number
        assert done.code == KILLED, f"{side}:{number}: {done.code}\n{done.out}\n{done.err}"
        ended(bench, carried_on(bench, code, f"{side}:{number}"))
        number += 2


def carried_on(bench: Bench, code: int, where: str) -> Any:
    """Resume the run; where none was opened, or it had ended already, deploy again."""
    result = bench.meshctl("-o", "json", "resume", "chat")
    if result.code == 8:
        result = bench.meshctl("-o", "json", "deploy", "chat", "-y")
        if code == 0 and result.code == 0 and not result.json["run"]:
            return result.json
    assert result.code == code, f"{where}: {result.code}\n{result.out}\n{result.err}"
    return result.json


def lanes(benches: Callable[[str], Bench], lane: Callable[[Bench, str, int], int]) -> list[int]:
    """All lanes at once."""
    plan = [(benches(f"{side}-{first}"), side, first) for side in SIDES for first in (1, 2)]
    with ThreadPoolExecutor(len(plan)) as pool:
        return list(pool.map(lambda one: lane(*one), plan))


@pytest.mark.timeout(300)
def test_a_deploy_that_dies_anywhere_ends_like_one_that_does_not(
    benches: Callable[[str], Bench],
) -> None:
    def ended(bench: Bench, rollout: Any) -> None:
        assert bench.split() == {rollout["revision"]: 100}
        assert bench.tags() == {}
        assert bench.release() == rollout["to_release"]

    def lane(bench: Bench, side: str, first: int) -> int:
        bench.declare(rollout={"steps": [50, 100], "token_deadline": "5s"})
        bench.deploy("chat")
        with client(bench, every_s=0.2) as wrong:
            last = sweep(bench, side, first, 0, ended)
        [status] = bench.json("status")["services"]
        assert wrong == []
        assert (status["state"], status["pinned"], status["drift"]) == ("READY", False, [])
        return last

    reached = lanes(benches, lane)

    assert min(reached) > 20


@pytest.mark.timeout(300)
def test_a_failing_deploy_that_dies_anywhere_ends_restored(
    benches: Callable[[str], Bench],
) -> None:
    def lane(bench: Bench, side: str, first: int) -> int:
        bench.declare(rollout={"token_deadline": "5s"})
        good = bench.deploy("chat")
        bench.env(MODE="two-faced")

        def ended(bench: Bench, rollout: Any) -> None:
            assert rollout["restored"] is True
            assert bench.split() == {good["revision"]: 100}
            assert bench.tags() == {}
            assert bench.release() == good["to_release"]

        return sweep(bench, side, first, 3, ended)

    reached = lanes(benches, lane)

    assert min(reached) > 16


@pytest.mark.timeout(300)
def test_a_rollback_that_dies_anywhere_is_carried_on_by_resume(
    benches: Callable[[str], Bench],
) -> None:
    """Back and forth between two releases, dying one write later each time."""

    def lane(bench: Bench, side: str, first: int) -> int:
        releases = [bench.deploy("chat")]
        bench.env(COLOUR="blue")
        releases.append(bench.deploy("chat"))
        number = first
        while True:
            goal = next(one for one in releases if bench.split() != {one["revision"]: 100})
            words = ("rollback", "chat", "-y", "--to", goal["to_release"])
            done = bench.meshctl(*words, MESHCTL_DRILL=f"{side}:{number}")
            resumed = bench.meshctl("resume", "chat") if done.code == KILLED else done
            if resumed.code == 8:  # it died before its run was opened, or after it had ended
                resumed = bench.meshctl(*words)
            assert resumed.code == 0, f"{side}:{number}\n{done.err}\n{resumed.err}"
            assert bench.split() == {goal["revision"]: 100}
            if done.code != KILLED:
                return number
            number += 2

    reached = lanes(benches, lane)

    assert min(reached) > 7
