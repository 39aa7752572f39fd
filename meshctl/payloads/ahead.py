"""Does several things at once, and hands on what came of them in their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def ahead(
    act: Callable[[], Callable[[T], R]], items: Iterable[T], at_once: int
) -> Iterator[tuple[T, R]]:
    """Each item and what came of it; every thread makes its own `act`, and items are taken only as
    they are needed: never more than `at_once` are held.

    Raises what the first item that failed raised. Threads that are still at work when it is left
    are left to themselves: Ctrl-C waits for nobody.
    """
    asked: SimpleQueue[tuple[T, Future[R]] | None] = SimpleQueue()
    waiting: deque[tuple[T, Future[R]]] = deque()
    threads = 0
    try:
        for item in items:
            if len(waiting) == at_once:
                yield _first(waiting)
            if threads < at_once:
                threading.Thread(target=_work, args=(act, asked), daemon=True).start()
                threads += 1
            waiting.append((item, Future()))
            asked.put(waiting[-1])
        while waiting:
            yield _first(waiting)
    finally:
        for _ in range(threads):
            asked.put(None)


def _first(waiting: deque[tuple[T, Future[R]]]) -> tuple[T, R]:
    item, answer = waiting.popleft()
    return item, answer.result()


def _work(
    make: Callable[[], Callable[[T], R]], asked: SimpleQueue[tuple[T, Future[R]] | None]
) -> None:
    act: Callable[[T], R] | None = None
    while one := asked.get():
        item, answer = one
        try:
            act = act or make()
            answer.set_result(act(item))
        except BaseException as error:  # whoever waits for the item raises it
            answer.set_exception(error)
