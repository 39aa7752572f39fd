"""A chat completion as a client asks it, and the text in its answer. Pure."""

from __future__ import annotations

import json
from typing import Any

from meshctl.outside.http import Request

PATH = "/v1/chat/completions"


def question(url: str, words: str, tokens: int | None = None) -> Request:
    """Ask the default model, for at most so many tokens."""
    return Request(url + PATH, "POST", body=body(words, tokens))


def body(words: str, tokens: int | None = None) -> dict[str, Any]:
    """The JSON that a client sends; at temperature 0 the answer is always the same."""
    messages = [{"role": "user", "content": words}]
    most = {} if tokens is None else {"max_tokens": tokens}
    return {"messages": messages, "temperature": 0, **most}


def content_of(answer: bytes) -> str:
    """What the model said; empty when this is no answer of a model."""
    try:
        content = json.loads(answer)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        return ""
    return content.strip() if isinstance(content, str) else ""
