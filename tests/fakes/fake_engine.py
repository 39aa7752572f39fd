"""A scripted OpenAI-compatible engine, run as a process; stands alone on the standard library.

    python fake_engine.py --port N --mode MODE [--host IP] [--model NAME] [--reply TEXT]
                          [--delay S] [--load S] [--exit-code N] [--record FILE] [--ignore-sigterm]

Modes, each a way engines behave in the wild:

ok      answers as it should: JSON or a stream, usage, a finish reason, [DONE].
slow    like ok, but waits `--delay` seconds (default 0.5) before every token, the first included.
wedged  /health says 200 for ever, and no completion ever gets a byte, not even a status line.
crash   dies in the middle of the first completion, after two tokens, with `--exit-code`
        (default 1; 0 imitates vLLM, which ends with 0 when its engine core dies).
lying   /health and /v1/models are fine and completions are 200 with finish_reason "stop" and a
        plausible usage, but the text is empty.
cut     streams end in their middle: the connection closes after two tokens without [DONE], and
        without the final chunk; answers that are no streams stop half way through their bytes.

`--port 0` takes a free port. The line `listening on http://127.0.0.1:N` is printed when the port is
open. `--load S` answers 503 "Loading model" for that long. `--record FILE` appends one JSON line
{"path", "headers", "body"} per POST, and {"gone": PATH} when a client left before the end. Any
model name is answered and echoed. The reply is cut at max_tokens with finish_reason "length"; a
token is a word. SIGTERM ends it at once, unless `--ignore-sigterm` is given.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODES = ("ok", "wedged", "slow", "crash", "lying", "cut")
BROKEN_AFTER_TOKENS = 2


class Engine(ThreadingHTTPServer):
    """The server and its script."""

    daemon_threads = True

    def __init__(self, script: argparse.Namespace) -> None:
        super().__init__((script.host, script.port), Handler)
        self.script = script
        self.ready_at: float = time.monotonic() + script.load
        self.lock = threading.Lock()
        self.count = 0

    def loading(self) -> bool:
        return time.monotonic() < self.ready_at

    def next_id(self) -> str:
        with self.lock:
            self.count += 1
            return f"chatcmpl-fake{self.count}"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Engine

    def do_GET(self) -> None:
        if self.server.loading():
            self._json(503, {"error": {"message": "Loading model", "code": 503}})
        elif self.path == "/health":
            self._json(200, {"status": "ok"})
        elif self.path == "/v1/models":
            card = {"id": self.server.script.model, "object": "model", "owned_by": "fake"}
            self._json(200, {"object": "list", "data": [card]})
        else:
            self._json(404, {"error": {"message": "no such path", "code": 404}})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self._record(asked)
        if self.server.script.mode == "wedged":
            threading.Event().wait()
        try:
            self._answer(asked)
        except ConnectionError:
            self._note({"gone": self.path})
            self.close_connection = True

    def _answer(self, asked: dict[str, Any]) -> None:
        if self.path == "/v1/embeddings":
            vector = {"object": "embedding", "index": 0, "embedding": [0.0, 1.0]}
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            self._json(200, {"object": "list", "data": [vector], "usage": usage})
        elif asked.get("stream"):
            self._stream(asked)
        else:
            self._whole(asked)

    def _whole(self, asked: dict[str, Any]) -> None:
        words, finish = self._words(asked)
        text = "".join(self._paced(words))
        answer = self._head(asked, "chat.completion") | {
            "choices": [self._choice(asked, text, finish)],
            "usage": self._usage(words),
        }
        self._json(200, answer, half=self.server.script.mode == "cut")

    def _stream(self, asked: dict[str, Any]) -> None:
        words, finish = self._words(asked)
        head = self._head(asked, "chat.completion.chunk")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if "messages" in asked:
            role = {"role": "assistant", "content": ""}
            self._event(head | {"choices": [self._piece(asked, role)]})
        for count, word in enumerate(self._paced(words)):
            if self.server.script.mode == "cut" and count == BROKEN_AFTER_TOKENS:
                self.close_connection = True
                return
            self._event(head | {"choices": [self._piece(asked, {"content": word})]})
        self._event(head | {"choices": [self._piece(asked, {}, finish)]})
        if (asked.get("stream_options") or {}).get("include_usage"):
            self._event(head | {"choices": [], "usage": self._usage(words)})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _paced(self, words: list[str]) -> Iterator[str]:
        """The tokens in their time; the crash happens between two of them."""
        script = self.server.script
        for count, word in enumerate(words):
            if script.mode == "crash" and count == BROKEN_AFTER_TOKENS:
                print("fatal: scripted crash", file=sys.stderr, flush=True)
                os._exit(script.exit_code)
            if script.mode == "slow":
                time.sleep(script.delay)
            yield word

    def _words(self, asked: dict[str, Any]) -> tuple[list[str], str]:
        """The tokens of the answer and its finish reason."""
        if self.server.script.mode == "lying":
            return [], "stop"
        first, *rest = self.server.script.reply.split()
        words = [first, *(f" {word}" for word in rest)]
        limit = asked.get("max_tokens") or asked.get("max_completion_tokens") or len(words)
        return words[:limit], "stop" if limit >= len(words) else "length"

    def _head(self, asked: dict[str, Any], kind: str) -> dict[str, Any]:
        return {
            "id": self.server.next_id(),
            "object": kind if "messages" in asked else "text_completion",
            "created": int(time.time()),
            "model": asked.get("model") or self.server.script.model,
        }

    def _choice(self, asked: dict[str, Any], text: str, finish: str) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
        if "messages" not in asked:
            return choice | {"text": text}
        return choice | {"message": {"role": "assistant", "content": text}}

    def _piece(
        self, asked: dict[str, Any], delta: dict[str, Any], finish: str | None = None
    ) -> dict[str, Any]:
        piece = {"index": 0, "finish_reason": finish}
        if "messages" not in asked:
            return piece | {"text": delta.get("content", "")}
        return piece | {"delta": delta}

    def _usage(self, words: list[str]) -> dict[str, int]:
        """The liar claims tokens that nobody saw."""
        count = 16 if self.server.script.mode == "lying" else len(words)
        return {"prompt_tokens": 8, "completion_tokens": count, "total_tokens": 8 + count}

    def _json(self, status: int, value: dict[str, Any], *, half: bool = False) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if half else body)
        self.close_connection = self.close_connection or half

    def _event(self, value: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _record(self, asked: dict[str, Any]) -> None:
        self._note({"path": self.path, "headers": dict(self.headers), "body": asked})

    def _note(self, entry: dict[str, Any]) -> None:
        if self.server.script.record:
            with self.server.lock, open(self.server.script.record, "a") as file:
                file.write(json.dumps(entry) + "\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: the log is for what the script says."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--mode", choices=MODES, default="ok")
    parser.add_argument("--model", default="fake")
    parser.add_argument("--reply", default="The quick brown fox jumps over the lazy dog.")
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--load", type=float, default=0.0)
    parser.add_argument("--exit-code", type=int, default=1)
    parser.add_argument("--record", default="")
    parser.add_argument("--ignore-sigterm", action="store_true")
    script = parser.parse_args()
    ends = signal.SIG_IGN if script.ignore_sigterm else lambda *_: os._exit(0)
    signal.signal(signal.SIGTERM, ends)
    engine = Engine(script)
    print(f"listening on http://127.0.0.1:{engine.server_port}", flush=True)
    engine.serve_forever()


if __name__ == "__main__":
    main()
