"""An engine is gone when the last process that it brought has ended, wherever that moved to."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import time

from meshctl.mesh.kin import MARK, Kin

LEADER = """
import os, signal, sys, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.argv[1] == "leaves":
        os.setsid()
        if os.fork():
            os._exit(0)
    print(os.getpid(), flush=True)
    time.sleep(600)
"""


def orphan(habit: str, mark: str) -> tuple[int, int]:
    """The group of an engine that has ended, and a worker of it that has not."""
    command = [sys.executable, "-c", LEADER, habit]
    leader = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, env=os.environ | {MARK: mark}
    )
    assert leader.stdout
    with leader.stdout as said:
        worker = int(said.readline())
    assert leader.wait(timeout=60) == 0
    return leader.pid, worker


def lives(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end(kin: Kin) -> None:
    asyncio.run(asyncio.wait_for(kin.end(), 60))


def test_a_worker_that_outlives_its_leader_is_ended() -> None:
    group, worker = orphan("stays", secrets.token_hex(8))

    end(Kin(group, "of nobody"))

    assert not lives(worker)


def test_a_worker_that_left_the_group_is_ended_by_its_mark() -> None:
    mark = secrets.token_hex(8)
    group, worker = orphan("leaves", mark)

    end(Kin(group, mark))

    assert not lives(worker)


def test_a_worker_of_somebody_else_goes_on() -> None:
    mark = secrets.token_hex(8)
    group, worker = orphan("leaves", mark)

    end(Kin(group, mark[:-1]))

    assert lives(worker)
    end(Kin(group, mark))


def test_an_engine_that_never_was_is_gone_at_once() -> None:
    began = time.monotonic()

    end(Kin(2**22 + 1, "of nobody"))

    assert time.monotonic() - began < 4, "less than it would wait for one that lives"


def test_who_could_not_be_ended_in_time_is_named() -> None:
    mark = secrets.token_hex(8)
    group, worker = orphan("leaves", mark)

    left = asyncio.run(asyncio.wait_for(Kin(group, mark).end(longest_s=0.0), 60))

    assert left == (worker,)
    end(Kin(group, mark))
