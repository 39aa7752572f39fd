"""Prints how quick `meshctl payload fetch` is, as ratios measured in one run on this machine.

A file of random bytes is served on loopback by another process. Each pair is timed in turn, ABAB,
and the ratio is the median of the pairs' ratios: whole times say nothing on another machine. curl
and `hf download` do not hash, so `openssl dgst -sha256` of what they fetched is part of their time.

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
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SERVER = """
import sys
from aiohttp import web

folder, sha256, size = sys.argv[1], sys.argv[2], sys.argv[3]
COMMIT = "0123456789abcdef0123456789abcdef01234567"

async def resolve(request):
    about = {"X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{sha256}"', "X-Linked-Size": size,
             "ETag": f'"{sha256}"', "Location": f"http://{request.host}/store/m.bin"}
    return web.Response(status=302, headers=about)

app = web.Application()
app.router.add_static("/store", folder)
app.router.add_get("/org/models/resolve/{commit}/m.bin", resolve)
web.run_app(app, host="127.0.0.1", port=0, access_log=None,
            print=lambda text: print(text.split()[3], flush=True) if "http:" in text else None)
"""


def main(mib: int) -> None:
    """Both rivals, then the memory that a fetch takes."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        digest = _make(home / "served", mib)
        with _serving(home / "served", digest, mib * 2**20) as url:
            ours = _ours(home / "ours", url, digest)
            for name, rival in (
                ("curl, openssl", _curl(home / "curl", url)),
                ("hf download, openssl", _hf(home / "hf", url)),
            ):
                print(f"payload fetch of {mib} MiB : {name:<22} {_ratio(ours, rival):.2f}x")
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
def _serving(folder: Path, digest: str, size: int) -> Iterator[str]:
    words = [sys.executable, "-c", SERVER, str(folder), digest, str(size)]
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


def _hf(to: Path, url: str) -> Act:
    hf = str(Path(sys.executable).with_name("hf"))
    words = ["env", f"HF_ENDPOINT={url}", "HF_HUB_DISABLE_XET=1", f"HF_HOME={to}/.home", hf,
             "download", "org/models", "m.bin", "--revision", COMMIT, "--local-dir",
             str(to)]  # fmt: skip
    return _act(to, words, _hash(str(to / "m.bin")))


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
