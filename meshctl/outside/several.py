"""Asks several things at once, in a way that a signal ends at once.

The threads of the standard pool are waited for when an error or a signal leaves it, and again when
the process ends: a cloud that takes half a minute to answer would hold Ctrl-C up as long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def several(act: Callable[[T], R], items: Iterable[T], at_once: int) -> list[R]:
    """What `act` makes of each item, in their order, so many at a time.

    Raises what the first item that failed raised; what is still under way is left to itself.
    """
    asked = list(items)
    if len(asked) < 2 or at_once < 2:
        return [act(item) for item in asked]
    answers: list[Future[R]] = [Future() for _ in asked]
    waiting: SimpleQueue[tuple[T, Future[R]]] = SimpleQueue()
    for pair in zip(asked, answers, strict=True):
        waiting.put(pair)
    for _ in range(min(at_once, len(asked))):
        threading.Thread(target=_work, args=(act, waiting), daemon=True).start()
    return [answer.result() for answer in answers]


def _work(act: Callable[[T], R], waiting: SimpleQueue[tuple[T, Future[R]]]) -> None:
    while True:
        try:
            item, answer = waiting.get_nowait()
        except Empty:
            return
        try:
            answer.set_result(act(item))
        except BaseException as error:  # whoever asked raises it, in its own thread
            answer.set_exception(error)
