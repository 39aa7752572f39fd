"""Reads what a client asks for: the model, whether as a stream, and the body to send on. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from meshctl.mesh.faults import Fault, bad_request
from meshctl.spec.registry import MODEL_NAME

LONGEST_TOKEN = 128
"""Characters of one token at most, as far as any common vocabulary goes: a run of spaces."""

MOST_MARKS = 2_000_000
"""Brackets, braces and commas of a body, those in its text included. Every client of the mesh waits
while one body is read, in a thread no less; a quarter of a second at most for so many lists, and
eight seconds for 32 MB of them. Text and code of that size have fewer, as have all token ids."""


@dataclass(frozen=True)
class Asked:
    """A request whose model is known; `body` names it even where the client did not.

    `least_tokens` is what the prompt has at least, as far as that is known without a tokenizer.
    """

    model: str
    body: bytes
    stream: bool = False
    least_tokens: int = 0


def read_asked(body: bytes, default_model: str | None) -> Asked | Fault:
    """The model a JSON body asks for; an absent or null one is the default.

    The name travels in headers and through peers, so one that no model can have ends here.
    """
    if sum(map(body.count, (b"[", b"{", b","))) > MOST_MARKS:
        return Fault(413, f"the body holds more than {MOST_MARKS} JSON values", "too_large")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        return bad_request(f"the body is not JSON: {error}")
    if not isinstance(document, dict):
        return bad_request("the body is not a JSON object")
    model = document.get("model")
    if model is None:
        if default_model is None:
            return bad_request("no `model` was named and this mesh has no default", "model")
        # A peer's own default may differ from ours, so ours is written into the body.
        model, body = default_model, json.dumps(document | {"model": default_model}).encode()
    if not isinstance(model, str) or not is_model_name(model):
        return bad_request("`model` is not the name of a model", "model")
    return Asked(model, body, document.get("stream") is True, least_tokens(document))


def is_model_name(text: str) -> bool:
    """Whether a model may be called that; a line feed at the end does not slip through."""
    return re.fullmatch(MODEL_NAME, text) is not None


def least_tokens(document: dict[str, Any]) -> int:
    """Tokens of the longest prompt at least: exact for token ids, a low guess for text."""
    messages, prompt = document.get("messages"), document.get("prompt")
    if isinstance(messages, list):
        return sum(map(_characters, messages)) // LONGEST_TOKEN
    if isinstance(prompt, list) and not isinstance(next(iter(prompt), None), int):
        return max(map(_tokens, prompt), default=0)
    return _tokens(prompt)


def _tokens(prompt: object) -> int:
    if isinstance(prompt, str):
        return len(prompt) // LONGEST_TOKEN
    return len(prompt) if isinstance(prompt, list) else 0


def _characters(message: object) -> int:
    """Text of one message; pictures and sounds are no text."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return len(content)
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return sum(len(text) for text in texts if isinstance(text, str))
