"""Engines that do one odd thing each, as programs of a few lines; `flags` reach them as argv."""

from __future__ import annotations

import sys
from typing import Any

_FRAME = """
import http.server, json, os, pathlib, sys, threading, time

WORD = {"id": "e-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def event(delta, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return b"data: " + json.dumps(WORD | {"choices": [choice | more]}).encode() + b"\\n\\n"


END = event({}, finish_reason="stop") + b"data: [DONE]\\n\\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.close_connection = True
        try:
            answer(self, asked)
        except ConnectionError:
            pass

    def begin(self, kind="text/event-stream", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        pass


{answer}


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

FRAGILE = '''
def answer(handler, asked):
    """Dies with the request in hand, `argv[3]` times over all its lives; then answers."""
    lives = pathlib.Path(sys.argv[2])
    with lives.open("a") as file:
        file.write("x")
    if lives.stat().st_size <= int(sys.argv[3]):
        os._exit(1)
    if not asked.get("stream"):
        handler.begin("application/json")
        return handler.wfile.write(b'{"choices": [{"message": {"content": "alive"}}]}')
    handler.begin()
    handler.wfile.write(event({"content": "alive"}) + END)
'''

PREFILLING = '''
def answer(handler, asked):
    """Headers, a role and a bare ping at once; the first word when the file `argv[2]` exists."""
    handler.begin()
    handler.wfile.write(event({"role": "assistant", "content": ""}) + b":\\n\\n")
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    handler.wfile.write(b"id: 7\\n" + event({"content": "word"}) + b"retry: 1\\n\\ndata:\\n\\n")
    handler.wfile.write(event({"content": " two"}) + END)
'''

HALF = '''
def answer(handler, asked):
    """Stops in the middle of an event, and closes as if that were its end."""
    handler.begin()
    handler.wfile.write(event({"content": "word"}) + event({"content": "lost"})[:40])
'''

GUSHING = '''
def answer(handler, asked):
    """As many events of a KiB as the client asks tokens, as fast as they go."""
    handler.begin()
    word = event({"content": "x" * 900})
    for _ in range(asked.get("max_tokens", 1)):
        handler.wfile.write(word)
    handler.wfile.write(END)
'''

REFUSING = '''
def answer(handler, asked):
    """Says no: at once, or late, when the file `argv[2]` exists."""
    while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    handler.begin("application/json", 400)
    handler.wfile.write(b'{"error": {"message": "too long", "code": 400, "type": "bad"}}')
'''

SAYING = '''
def answer(handler, asked):
    """Says the bytes of `head` and of `say`, this `times` over, and hangs up; or keeps the
    connection, or hangs on to it in silence. The file `argv[2]` has an x for every request."""
    with open(sys.argv[2], "a") as file:
        file.write("x")
    said = asked["say"] * asked.get("times", 1)
    handler.wfile.write((asked.get("head", "") + said).encode("latin-1"))
    handler.close_connection = not asked.get("keep")
    if asked.get("hang"):
        handler.rfile.read(1)
'''


def odd(id: str, answer: str, *flags: object, **more: Any) -> dict[str, Any]:
    """A model entry that is served by one of the engines above."""
    command = [sys.executable, "-c", program(answer), "{port}", *map(str, flags)]
    return {"id": id, "engine": "generic", "command": command} | more


def program(answer: str) -> str:
    return _FRAME.replace("{answer}", answer)
