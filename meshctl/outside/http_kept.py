"""Asks many HTTP questions over few connections: a fetch of a large file is hundreds of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from meshctl.outside.http import RealHttp, is_loopback, new_session
from meshctl.outside.watch import Relief, Watch


class KeptHttp(RealHttp):
    """The network, with a session for each thread that keeps its connections.

    A question that failed closes them, so that the next one begins anew.
    """

    def __init__(self) -> None:
        self._mine = threading.local()

    @contextlib.contextmanager
    def _session(self, url: str, watch: Watch) -> Iterator[Any]:
        session, relief = self._kept(url, watch)
        session.trust_env = not is_loopback(url)
        relief.hand_over(watch)
        try:
            yield session
        except BaseException:
            del self._mine.kept
            session.close()
            raise

    def _kept(self, url: str, watch: Watch) -> tuple[Any, Relief]:
        if not hasattr(self._mine, "kept"):
            relief = Relief(watch)
            self._mine.kept = new_session(url, relief), relief
        kept: tuple[Any, Relief] = self._mine.kept
        return kept
