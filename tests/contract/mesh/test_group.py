"""A process group is gone when the last of it has ended, not when its leader has."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

from meshctl.mesh.group import group_gone

LEADER = """
import os, time
if os.fork() == 0:
    time.sleep(600)
"""


def test_a_worker_that_outlives_its_leader_is_waited_for() -> None:
    leader = subprocess.Popen([sys.executable, "-c", LEADER], start_new_session=True)
    assert leader.wait(timeout=20) == 0

    async def watch() -> tuple[bool, bool]:
        gone = asyncio.create_task(group_gone(leader.pid))
        await asyncio.wait({gone}, timeout=0.3)
        before = gone.done()
        os.killpg(leader.pid, signal.SIGKILL)
        await asyncio.wait({gone}, timeout=4)
        return before, gone.done()

    assert asyncio.run(watch()) == (False, True)


def test_a_group_that_never_was_is_gone_at_once() -> None:
    asyncio.run(asyncio.wait_for(group_gone(2**22 + 1), 4))
