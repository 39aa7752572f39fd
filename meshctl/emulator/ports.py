"""Loopback ports below the kernel's ephemeral range, so that nobody else is given them."""

from __future__ import annotations

import random
import socket


def is_free(port: int) -> bool:
    """Whether the port can be bound on loopback now."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def pick(low: int, high: int, taken: set[int], key: str = "") -> int:
    """A free port in the range that nobody of ours remembers; OSError when there is none.

    The search begins where the key says, so that a service made again gets its old URL.
    """
    start = random.Random(key or None).randrange(low, high + 1)
    for step in range(high - low + 1):
        port = low + (start - low + step) % (high - low + 1)
        if port not in taken and is_free(port):
            return port
    raise OSError(f"no free port between {low} and {high}")


def ephemeral() -> int:
    """A port the kernel calls free just now, for an instance to listen on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
