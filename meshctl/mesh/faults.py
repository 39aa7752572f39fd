"""What the mesh itself says when a request cannot be answered, as OpenAI error envelopes. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

TYPES = {
    400: "invalid_request_error",
    404: "not_found_error",
    413: "invalid_request_error",
    500: "server_error",
    502: "upstream_error",
    503: "unavailable_error",
    504: "timeout_error",
    508: "loop_error",
}


@dataclass(frozen=True)
class Fault:
    """One failed request: the status, a sentence, a code for programs, the parameter at fault,
    and when to ask again."""

    status: int
    message: str
    code: str
    param: str | None = None
    retry_after_s: int | None = None

    @property
    def error(self) -> dict[str, object]:
        """The error object; `src` tells a fault of the mesh from one of the engine."""
        return {
            "message": self.message,
            "type": TYPES.get(self.status, "invalid_request_error"),
            "param": self.param,
            "code": self.code,
            "src": "mesh",
        }

    def body(self) -> bytes:
        """The envelope as a whole answer."""
        return json.dumps({"error": self.error}).encode()

    def event(self) -> bytes:
        """The envelope as an event of a stream that has begun, when the status is long gone."""
        return b"data: " + self.body() + b"\n\n"


class Failed(Exception):
    """A request cannot be answered; `headers` say whom it was about."""

    def __init__(self, fault: Fault, headers: Mapping[str, str]) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.headers = headers


def bad_request(message: str, param: str | None = None) -> Fault:
    """The client sent something that no engine could answer."""
    return Fault(400, message, "invalid_request", param)


def too_slow(seconds: float) -> Fault:
    """The client did not send its request to the end."""
    return Fault(408, f"the body did not come within {seconds:.0f} s", "request_timeout")


def unknown_model(name: str) -> Fault:
    """Nobody here answers for the name; worded as OpenAI words it."""
    return Fault(404, f"The model `{name}` does not exist.", "model_not_found", "model")


def too_long(least: int, context: int) -> Fault:
    """A prompt that cannot fit, known without a tokenizer; worded as OpenAI words it."""
    message = f"This model's maximum context length is {context} tokens, the prompt has at least"
    return Fault(400, f"{message} {least}.", "context_length_exceeded", "messages")


def engine_down(reason: str) -> Fault:
    """The engine is starting again, or cannot start."""
    return Fault(503, reason, "engine_unavailable", retry_after_s=2)


def queue_full(model: str, retry_after_s: int) -> Fault:
    """No request more may wait for the model."""
    return Fault(503, f"the queue for {model} is full", "queue_full", retry_after_s=retry_after_s)


def engine_lost(model: str, why: str) -> Fault:
    """The engine ended before the first byte of its answer, and asking again did not help."""
    message = f"the engine of {model} was lost before it answered: {why}"
    return Fault(502, message, "engine_lost")


def peer_slow(peer: str, seconds: float) -> Fault:
    """A peer that took longer than any cold start."""
    return Fault(504, f"peer {peer} gave no answer within {seconds:.0f} s", "upstream_timeout")


def no_stream(who: str) -> Fault:
    """A stream was asked for and begun, and the upstream gave something else."""
    return Fault(502, f"{who} did not answer with a stream", "upstream_failed")


def upstream_failed(who: str, why: str) -> Fault:
    """The engine or peer gave no usable answer."""
    return Fault(502, f"{who} gave no answer: {why}", "upstream_failed")


def cut_off(who: str) -> Fault:
    """An answer stopped in its middle."""
    return Fault(502, f"{who} broke off in the middle of its answer", "upstream_cut")


def silent(who: str, seconds: float) -> Fault:
    """An answer that went on no more, though nobody hung up."""
    message = f"{who} said nothing for {seconds:g} s in the middle of its answer"
    return Fault(502, message, "upstream_cut")


def never_began(who: str, seconds: float) -> Fault:
    """A stream that was asked for, and of which nothing came, though somebody is there."""
    return Fault(504, f"{who} said nothing for {seconds:g} s", "upstream_silent")


def too_big(who: str, most: int) -> Fault:
    """An answer that has to be held whole, and is too large for that."""
    message = f"{who} answered with more than {most // 2**20} MiB; ask for a stream, or for less"
    return Fault(502, message, "upstream_failed")


def stopping() -> Fault:
    """The mesh was told to stop and could not wait any longer."""
    return Fault(503, "the mesh is stopping", "stopping", retry_after_s=2)


def loop(peer: str) -> Fault:
    """A mesh forwarded here what this mesh would forward again."""
    message = f"this request was already forwarded once; it would go on to peer {peer}"
    return Fault(508, message, "forwarding_loop", "model")


def event_of(body: bytes) -> bytes | None:
    """An upstream's error envelope as an event; None for what is none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("error"), dict | str):
        return None
    return b"data: " + json.dumps({"error": document["error"]}).encode() + b"\n\n"
