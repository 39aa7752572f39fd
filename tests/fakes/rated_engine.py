"""An engine whose rates are known, behind the doors of a bench; its time is computed, never waited.

It answers any question in a format that both families share. Jitter is a share of each gap between
tokens, drawn from the seed; `wobble` is a share by which whole answers are slower or faster. The
prompt holds as many tokens as words, so what the bench asks for is not what it gets.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from meshctl.outside.http import Request, Response
from meshctl.outside.streams import Batch, Capture, Chunk

OVERHEAD_S = 0.012


@dataclass
class RatedEngine:
    """`streams` and `http` of a bench at once."""

    decode_per_s: float = 80.0
    prefill_per_s: float = 2000.0
    overhead_s: float = OVERHEAD_S
    jitter: float = 0.0
    wobble: float = 0.0
    per_chunk: int = 1
    holds_s: float | None = None  # a mesh before it says headers and a comment at once
    cached: int = 0
    stops_at: int | None = None
    finish: str = "length"
    usage: bool = True
    cpu_share: float = 0.05
    clock_off_s: float = 0.0
    strangers: int = 0
    busy: int = 0
    acceptance: float | None = None
    status: int = 200
    seed: int = 1
    metrics: bool = True
    asked: list[dict[str, Any]] = field(default_factory=list)
    made: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def capture(self, requests: Sequence[Request], *, timeout_s: float) -> Batch:
        captures = tuple(self._answer(request.body) for request in requests)
        took = max((c.chunks[-1].at_s for c in captures if c.chunks), default=0.01)
        return Batch(captures, took, took + self.clock_off_s, took * self.cpu_share)

    def send(self, request: Request, *, timeout_s: float) -> Response:
        path = "/" + request.url.split("/", 3)[3]
        said = {
            "/v1/models": json.dumps({"data": [{"id": "smol", "owned_by": "vllm"}]}),
            "/version": json.dumps({"version": "0.33.0"}),
            "/metrics": self._metrics() if self.metrics else "",
        }.get(path, "")
        return Response(200 if said else 404, {}, said.encode(), 0.0)

    def stream(self, request: Request, *, timeout_s: float) -> Any:
        raise AssertionError("a bench streams by its own door")

    def _answer(self, body: dict[str, Any]) -> Capture:
        self.asked.append(body)
        if self.status != 200:
            return Capture(self.status, {}, 0.01, (Chunk(0.01, b'{"error":"no"}'),))
        prompt = len(body["messages"][0]["content"].split())
        count = min(body["max_tokens"], self.stops_at or body["max_tokens"])
        self.made += count + self.strangers
        pace = 1 + self._chance.gauss(0, self.wobble)
        at = (self.overhead_s + (prompt - self.cached) / self.prefill_per_s) * pace
        chunks = [] if self.holds_s is None else [Chunk(self.holds_s, b": hold\n\n")]
        headers_s = at if self.holds_s is None else self.holds_s
        chunks.append(_event(at, {"delta": {"role": "assistant", "content": ""}}))
        for number in range(count):
            if number:
                gap = pace / self.decode_per_s
                at += gap * max(0.0, 1 + self._chance.gauss(0, self.jitter))
            if number % self.per_chunk == self.per_chunk - 1 or number == count - 1:
                chunks.append(_event(at, {"delta": {"content": " a"}}))
        chunks.append(_event(at, {"delta": {}, "finish_reason": self.finish}))
        if self.usage:
            chunks.append(Chunk(at, _data({"choices": [], "usage": self._usage(prompt, count)})))
        chunks.append(Chunk(at, b"data: [DONE]\n\n"))
        return Capture(200, {"content-type": "text/event-stream"}, headers_s, tuple(chunks))

    def _usage(self, prompt: int, count: int) -> dict[str, Any]:
        return {
            "prompt_tokens": prompt,
            "completion_tokens": count,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }

    def _metrics(self) -> str:
        lines = [
            f'vllm:generation_tokens_total{{engine="0",model_name="smol"}} {self.made}.0',
            f'vllm:num_requests_running{{engine="0"}} {self.busy}.0',
        ]
        if self.acceptance is not None:
            drafted = self.made * 2
            lines += [
                f"vllm:spec_decode_num_draft_tokens_total{{}} {drafted}",
                f"vllm:spec_decode_num_accepted_tokens_total{{}} {drafted * self.acceptance}",
            ]
        return "\n".join(lines) + "\n"


def like(engine: RatedEngine, **changes: Any) -> RatedEngine:
    """The same engine but for this, with nothing asked of it yet."""
    return replace(engine, asked=[], made=0, **changes)


def _event(at_s: float, choice: dict[str, Any]) -> Chunk:
    return Chunk(at_s, _data({"choices": [{"index": 0, "finish_reason": None} | choice]}))


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
