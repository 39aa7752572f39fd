"""An endpoint that does everything right, to override one thing at a time."""

from __future__ import annotations

import json
from typing import Any

from meshctl.secret import Secret
from meshctl.verify import ModelAsked, Subject
from tests.fakes.fake_http import FakeHttp, Scripted, Streamed, answer, streamed

TOKEN = "eyJhbGciOi.an-identity-token.c2ln"
MODELS = "GET /v1/models"
CHAT = "POST /v1/chat/completions"
STREAM = "STREAM /v1/chat/completions"


def subject(**changed: Any) -> Subject:
    chosen: dict[str, Any] = {
        "url": "https://chat.example",
        "release": "r-1",
        "identity": True,
        "token": Secret(TOKEN),
        "models": (ModelAsked("m", aliases=("mini",), default=True),),
        "token_deadline_s": 60.0,
    }
    return Subject(**chosen | changed)


def listed(*names: str, release: str = "r-1") -> Scripted:
    data = [{"id": name} for name in names or ("m", "mini")]
    return answer(200, {"data": data}, x_mesh_release=release)


def said(content: str = "1 2 3", **changed: Any) -> Scripted:
    document = {
        "model": "m",
        "choices": [{"message": {"content": content}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 8},
    }
    return answer(200, document | changed)


def told(*contents: str) -> Streamed:
    deltas = [{"choices": [{"delta": {"content": c}}]} for c in contents or ("1 ", "2")]
    events = [*deltas, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    lines = [line for event in events for line in (f"data: {json.dumps(event)}", "")]
    return streamed(*lines, "data: [DONE]", "")


def endpoint(script: dict[str, list[Scripted]] | None = None) -> FakeHttp:
    """A good endpoint, some of whose answers are scripted otherwise."""
    good: dict[str, list[Scripted]] = {MODELS: [listed()], CHAT: [said()], STREAM: [told()]}
    return FakeHttp(good | (script or {}))
