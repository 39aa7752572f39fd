#!/usr/bin/env python3
"""The program of the tests' small image: a scripted engine that also says which release it is.

It stands beside fake_engine.py in the image and, like a mesh, puts MESH_RELEASE into every answer.
`MODE` says how it behaves: every mode of fake_engine.py, and

exit       ends at once with code 3 and a last word, as an engine without memory does.
silent     starts and never opens its port.
impostor   says that it is another release.
two-faced  tells the truth on the address it was first asked on, and lies on every other one: a
           candidate that passes on its tag and fails when it gets traffic.
fades      tells the truth to the first TRUE_ANSWERS completions (1), and lies to all that follow:
           a release that passes once and not again.
busy       answers 503 to every completion: neither proof nor disproof.

`SAYS` is printed first, as an engine prints what it does at its start.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

from fake_engine import MODES, Engine, Handler

OWN_MODES = ("exit", "silent", "impostor", "two-faced", "fades", "busy")
TRUE_ANSWERS = int(os.environ.get("TRUE_ANSWERS", "1"))
MODE = os.environ.get("MODE", "ok")
RELEASE = "rimpostor00" if MODE == "impostor" else os.environ.get("MESH_RELEASE", "")


class Small(Handler):
    """One request to the small image."""

    first_host: str | None = None
    answered = 0

    def send_response(self, code: int, message: str | None = None) -> None:
        super().send_response(code, message)
        self.send_header("X-Mesh-Release", RELEASE)

    def do_POST(self) -> None:
        host = self.headers.get("Host", "")
        Small.first_host = Small.first_host or host
        Small.answered += 1
        self.lies = (MODE == "two-faced" and host != Small.first_host) or (
            MODE == "fades" and Small.answered > TRUE_ANSWERS
        )
        if MODE == "busy":
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._json(503, {"error": {"message": "Loading model", "code": 503}})
            return
        super().do_POST()

    def _words(self, asked: dict[str, Any]) -> tuple[list[str], str]:
        return ([], "stop") if self.lies else super()._words(asked)


def script() -> argparse.Namespace:
    """What fake_engine.py would have read from its command line."""
    return argparse.Namespace(
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        mode=MODE if MODE in MODES else "ok",
        model="small",
        reply="The quick brown fox jumps over the lazy dog.",
        delay=0.5,
        load=0.0,
        exit_code=1,
        record="",
    )


def main() -> None:
    if MODE not in (*MODES, *OWN_MODES):
        sys.exit(f"no mode {MODE}")
    if "SAYS" in os.environ:
        print(os.environ["SAYS"], flush=True)
    if MODE == "exit":
        print("the engine is out of memory", flush=True)
        sys.exit(3)
    if MODE == "silent":
        time.sleep(600)
    engine = Engine(script())
    engine.RequestHandlerClass = Small
    engine.serve_forever()


if __name__ == "__main__":
    main()
