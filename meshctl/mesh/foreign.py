"""Puts what libraries log into the mesh's own log, in its form."""

from __future__ import annotations

import logging

from meshctl.mesh.line import Level
from meshctl.mesh.log import Log


def adopt(log: Log) -> None:
    """From here on: their warnings and errors with the traceback, nothing else."""
    logging.basicConfig(handlers=[_Foreign(log)], level=logging.WARNING, force=True)


class _Foreign(logging.Handler):
    """Whoever logs through Python's own logging: asyncio, and the HTTP library."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Bytes that are no HTTP are a client's doing: known to be so, and no reason to alarm.

        Only their kind is told: the library quotes the bytes, and those may be a key or a prompt.
        """
        if _no_http(record):
            kind = type(_cause(record)).__name__
            self._log.say("debug", f"a client sent what is no HTTP: {kind}")
        else:
            self._log.say(_level(record.levelno), self.format(record))


def _cause(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _no_http(record: logging.LogRecord) -> bool:
    from aiohttp.http_exceptions import HttpProcessingError
    from aiohttp.web import RequestPayloadError

    return isinstance(_cause(record), HttpProcessingError | RequestPayloadError)


def _level(number: int) -> Level:
    return "error" if number >= logging.ERROR else "warning"
