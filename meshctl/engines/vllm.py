"""vLLM, as 0.33 writes its log (from its source; older forms noted). Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.common import union
from meshctl.engines.engine import Engine, Flags, Milestone
from meshctl.engines.signatures.common import COMMON
from meshctl.engines.signatures.hub import HUB
from meshctl.engines.signatures.torch import TORCH
from meshctl.engines.signatures.vllm import VLLM_FAILURES

_PROCESS = r"^(\(\w+ pid=\d+\) )?"
_LEVEL = r"([A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]+\] )?"
"""`(EngineCore pid=7) ERROR 11-30 10:00:00 [core.py:1] `, repeated on each line of a traceback."""
_FRAME = r"\bFile \".+\", line \d+, in "
"""A line of a traceback: the function that it names is what failed."""

VLLM = Engine(
    name="vllm",
    program="vllm",
    arguments=("serve", "--host", "127.0.0.1"),
    flags=Flags(
        model="",
        context="--max-model-len",
        parallel="--max-num-seqs",
        port="--port",
        names="--served-model-name",
    ),
    whole_payload=True,
    total_context=False,
    names_separator=None,
    # It binds the port before it loads and prints what it was told, so a conflict shows at once.
    port_line=None,
    ready_path="/health",
    metric_prefix="vllm:",
    prefix=compile(_PROCESS + _LEVEL),
    error=union(_PROCESS + _LEVEL + r"(\w+\.)*\w*(Error|Exception): ", r"^vllm.*: error: "),
    wrappers=union(
        r"EngineCore failed to start",
        r"Engine core initialization failed",
        r"EngineCore encountered a fatal error",
        r"EngineDeadError",
    ),
    milestones=(
        Milestone("load", compile(r"Initializing a V1 LLM engine \(v(?P<version>[^)]+)\)")),
        Milestone("load", compile(r"Starting to load model (?P<model>\S+)\.\.\.")),
        Milestone(
            "kv",
            compile(
                r"Model loading took (?P<gib>[\d.]+) GiB(?: memory)? and (?P<seconds>[\d.]+) s"
            ),
        ),
        Milestone("graphs", compile(r"KV cache size: (?P<tokens>[\d,]+) tokens")),
        Milestone("graphs", compile(r"Capturing CUDA graphs? ")),
        Milestone("warmup", compile(r"Graph capturing finished in (?P<seconds>[\d.]+) secs")),
        Milestone("ready", compile(r"Application startup complete")),
        Milestone("load", compile(_FRAME + r"(load_model|load_weights)$"), frame=True),
        Milestone(
            "kv",
            compile(_FRAME + r"(_allocate_kv_cache_tensors|determine_available_memory)$"),
            frame=True,
        ),
        Milestone(
            "graphs",
            compile(_FRAME + r"(capture_model|_capture_cudagraphs|profile_cudagraph_memory)$"),
            frame=True,
        ),
    ),
    signatures=(*VLLM_FAILURES, *TORCH, *HUB, *COMMON),
)
