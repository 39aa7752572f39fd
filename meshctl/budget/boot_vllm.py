"""Reads what vLLM says of its memory while it starts, in the words of 0.6 to 0.33. Pure.

Templates: facts/serving 2.2. Each worker has lines of its own: the heaviest weights and the least
room count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from meshctl.budget.boot_facts import (
    COUNT,
    NUMBER,
    Found,
    count,
    fact,
    gib,
    take_all,
    without,
    yes,
)

FACTS = (
    fact("version", r"(?:LLM engine \(v|vLLM API server version v?)(\d[\w.+-]{0,40})", str),
    fact("weights_bytes", rf"Model loading took {NUMBER} Gi?B", gib, max),
    fact("weights_bytes", rf"Loading model weights took {NUMBER} GB", gib, max),
    fact("available_kv_bytes", rf"Available KV cache memory: (-?{NUMBER[1:-1]}) GiB", gib, min),
    fact("available_kv_bytes", r"persisted startup plan .{0,200}kv_cache_memory_bytes=(\d{1,16})\b",
         int, min),
    fact("available_kv_bytes", rf"reserved for KV Cache is (-?{NUMBER[1:-1]})GiB", gib, min),
    fact("num_blocks", r"# (?:GPU|\w{2,8}) blocks: (\d{1,12})\b", int, min),
    fact("kv_tokens", rf"KV cache size: {COUNT} tokens", count, min),
    fact("context", rf"Maximum concurrency for {COUNT} tokens per request", count),
    fact("max_concurrency", rf"tokens per request: {NUMBER}x", float, min),
    fact("graphs_bytes", rf"Graph capturing finished in {NUMBER[1:-1]} secs?, took {NUMBER} GiB",
         gib, max),
    fact("graphs_bytes", rf"CUDA graph pool memory: {NUMBER} GiB \(actual\)", gib, max),
    fact("shrunk_from", rf"Auto-fit max_model_len: reduced from {COUNT} to", count),
    fact("context", rf"Auto-fit max_model_len: reduced from {COUNT[1:-1]} to {COUNT}", count),
    fact("ready", r"Application startup complete", yes),
    fact("ready", r"Starting vLLM (?:API )?server (?:\d+ )?on http", yes),
)  # fmt: skip
_SERVER = re.compile(r"vLLM API server version")
_ENGINE = re.compile(r"Initializing an? (?:V\d )?LLM engine")


def read_vllm(lines: Iterable[str]) -> Found:
    """The keys of a Boot. Of several boots the last: a server names its version first, and where
    that line is missing an engine that starts after one was ready begins anew."""
    found: Found = {}
    for line in lines:
        if _SERVER.search(line) or (found.get("ready") and _ENGINE.search(line)):
            found = without(found, ())
        take_all(FACTS, line, found)
    return found
