"""Reads text and JSON of any shape and depth without ever raising. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from meshctl.outside.http import Response
from meshctl.verify.check import Transcript
from meshctl.verify.subject import ModelAsked

SPEAKING = ("content", "reasoning", "reasoning_content")
"""Where a token may stand: vLLM says `reasoning`, llama-server `reasoning_content`."""


def text_of(answer: Response | Transcript) -> str:
    """The body as text; bytes that are no UTF-8 become replacement characters."""
    if isinstance(answer, Transcript):
        return "\n".join(line.text for line in answer.lines)
    return answer.body.decode("utf-8", "replace")


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object a text holds, or None for anything else, however deep or broken."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def objects(value: Any) -> list[dict[str, Any]] | None:
    """A list of objects as it is, None for anything else."""
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    return None


def words(value: Any) -> str:
    """A string as it is, "" for anything else."""
    return value if isinstance(value, str) else ""


def error_text(text: str) -> str:
    """The message of an OpenAI error document, or the text itself."""
    document = json_object(text)
    return (error_of(document) if document else None) or text.strip() or "nothing"


def error_of(document: Mapping[str, Any]) -> str | None:
    """What the `error` of a document says, None where it has none."""
    error = document.get("error")
    if error is None:
        return None
    if isinstance(error, dict):
        error = error.get("message")
    return words(error) or "an error without a message"


def spoken(message: Mapping[str, Any]) -> dict[str, str]:
    """The text in a message or delta, by the field it stands in; empty when there is no token."""
    said = {field: words(message.get(field)) for field in SPEAKING}
    if objects(message.get("tool_calls")):
        said["tool_calls"] = "(tool calls)"
    return {field: text for field, text in said.items() if text}


def other_model(model: ModelAsked, named: Any) -> str:
    """Why the model that an answer names is not the one that was asked, or ""."""
    if named in model.names:
        return ""
    return f"asked for {model.id}, answered by {words(named) or 'no model'}"
