"""A mesh on a clock that jumps: SIGUSR1 lets an hour go by, minute by minute, in an instant.

Whatever has set itself a timer is woken as if the hour had really passed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from meshctl.mesh.__main__ import main

TICKS = 20
"""Turns of the loop after each minute, so that what was woken can go on and set a new timer."""


class Hasty(asyncio.SelectorEventLoop):
    """The usual loop, some hours ahead."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


class Policy(asyncio.DefaultEventLoopPolicy):
    """Makes hasty loops that listen to the signal."""

    def new_event_loop(self) -> Hasty:
        loop = Hasty()
        loop.add_signal_handler(signal.SIGUSR1, lambda: loop.create_task(_hour(loop)))
        return loop


async def _hour(loop: Hasty) -> None:
    for _ in range(60):
        loop.ahead_s += 60.0
        for _ in range(TICKS):
            await asyncio.sleep(0)
    print("an hour went by", flush=True)


if __name__ == "__main__":
    sys.modules["uvloop"] = None  # type: ignore[assignment]  # as in an image without it
    asyncio.set_event_loop_policy(Policy())
    sys.exit(main(["serve"], os.environ))
