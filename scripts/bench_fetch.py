"""Prints how quick `meshctl payload fetch` is, as ratios measured in one run on this machine.

A file of random bytes is served on loopback by another process. Each pair is timed in turn, ABAB,
and the ratio is the median of the pairs' ratios: whole times say nothing on another machine. curl
does not hash, so `openssl dgst -sha256` of what it fetched is part of its time. A stand-in of the
hub for `hf download` is still to come: its client wants the store on another origin.

    python scripts/bench_fetch.py [MEBIBYTES]
"""

from __future__ import annotations

import contextlib
import hashlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROUNDS = 5
SERVER = """
import sys
from aiohttp import web

app = web.Application()
app.router.add_static("/store", sys.argv[1])
web.run_app(app, host="127.0.0.1", port=0, access_log=None,
            print=lambda text: print(text.split()[3], flush=True) if "http:" in text else None)
"""


def main(mib: int) -> None:
    """The ratio, then the memory of whoever took most."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        digest = _make(home / "served", mib)
        with _serving(home / "served") as url:
            ours, rival = _ours(home / "ours", url, digest), _curl(home / "curl", url)
            print(f"payload fetch of {mib} MiB : curl, openssl  {_ratio(ours, rival):.2f}x")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 2**10
        print(f"memory of the largest of all these processes  {peak} MiB")


def _make(folder: Path, mib: int) -> str:
    folder.mkdir()
    digest = hashlib.sha256()
    with Path("/dev/urandom").open("rb") as chance, (folder / "m.bin").open("wb") as file:
        for _ in range(mib):
            data = chance.read(2**20)
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


@contextlib.contextmanager
def _serving(folder: Path) -> Iterator[str]:
    words = [sys.executable, "-c", SERVER, str(folder)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


Act = Callable[[], None]


def _ours(to: Path, url: str, digest: str) -> Act:
    source = f"{url}/store/m.bin"
    return _act(to, [sys.executable, "-m", "meshctl", "payload", "fetch", source, "--sha256",
                     digest, "--to", str(to)])  # fmt: skip


def _curl(to: Path, url: str) -> Act:
    file = str(to / "m.bin")
    return _act(to, ["curl", "-s", "-o", file, f"{url}/store/m.bin"], _hash(file))


def _hash(file: str) -> list[str]:
    return ["openssl", "dgst", "-sha256", file]


def _act(to: Path, *commands: list[str]) -> Act:
    """Into a folder that is empty, each time."""

    def act() -> None:
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        for words in commands:
            subprocess.run(words, check=True, capture_output=True)

    return act


def _ratio(one: Act, other: Act) -> float:
    one()
    other()
    return statistics.median(_seconds(one) / _seconds(other) for _ in range(ROUNDS))


def _seconds(act: Act) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024)
