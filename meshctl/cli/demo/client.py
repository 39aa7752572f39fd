"""A client that asks the public URL again and again, from a thread, and counts what it sees."""

from __future__ import annotations

import threading

from meshctl.cli.demo.question import content_of, question
from meshctl.cli.demo.tally import Tally
from meshctl.errors import Unreachable
from meshctl.outside.clock import Clock
from meshctl.outside.http import Http

PAUSE_S = 0.2
"""Between an answer and the next question: enough to see every gap, and to leave two processor
cores some time for the releases."""
PATIENCE_S = 30.0
WORDS, TOKENS = "Say one word.", 4


class Client:
    """Asks nothing before `start`; the end of its block waits for the answer in flight."""

    def __init__(self, http: Http, clock: Clock) -> None:
        self.http, self.clock = http, clock
        self.tally: Tally | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def asking(self) -> bool:
        """Whether it has begun to ask."""
        return self.tally is not None

    def start(self, url: str) -> None:
        """Ask this URL from now on: the service is open."""
        self.tally = Tally(since=self.clock.monotonic())
        self._thread = threading.Thread(target=self._ask, args=(url, self.tally), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; a client that never started has nothing to stop."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _ask(self, url: str, tally: Tally) -> None:
        self.ask_once(url, tally)
        while not self._over.wait(PAUSE_S):
            self.ask_once(url, tally)
        tally.close(self.clock.monotonic())

    def ask_once(self, url: str, tally: Tally) -> None:
        """One question; good is a 200 with a token in it, and everything else is a failure."""
        try:
            answer = self.http.send(question(url, WORDS, TOKENS), timeout_s=PATIENCE_S)
        except Unreachable as error:
            return tally.bad(error.message)
        if answer.status == 200 and content_of(answer.body):
            return tally.good(self.clock.monotonic())
        return tally.bad(f"{answer.status}: {answer.body[:200].decode(errors='replace')}")
