"""llama.cpp's llama-server, as build 11434 writes its log (older forms noted). Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.common import COMPLAINT, union
from meshctl.engines.engine import Engine, Flags, Milestone
from meshctl.engines.signatures.common import COMMON
from meshctl.engines.signatures.llama_server import LLAMA

_PREFIX = r"^(\d+\.\d\d\.\d{3}\.\d{3} [A-Z] )?"
"""`0.00.006.418 E `: minutes, seconds, milliseconds, microseconds, level; older builds none."""

LLAMA_SERVER = Engine(
    name="llama-server",
    program="llama-server",
    # `--no-webui` is the spelling that old and new builds both take.
    arguments=("--host", "127.0.0.1", "--metrics", "--no-webui"),
    flags=Flags(
        model="-m",
        context="-c",
        parallel="-np",
        port="--port",
        names="--alias",
        projector="--mmproj",
    ),
    whole_payload=False,
    total_context=True,
    names_separator=",",
    port_line=compile(r"listening on http://[^\s:]+:(?P<port>\d+)"),
    ready_path="/health",
    metric_prefix="llamacpp:",
    prefix=compile(_PREFIX),
    error=union(r"^\d+\.\d\d\.\d{3}\.\d{3} E ", r"^\w+: error\b", r"^CUDA error", COMPLAINT),
    wrappers=union(
        r"failed to load model",
        r"encountered an error while trying to fit params",
        r"exiting due to (model loading|HTTP server) error",
    ),
    milestones=(
        Milestone("load", compile(r"loading model '(?P<file>[^']+)'")),
        Milestone("warmup", compile(r"initializing(?: slots)?, n_slots = (?P<slots>\d+)")),
        Milestone("warmup", compile(r"warming up the model")),
        Milestone("ready", compile(r"model loaded$|listening on http://")),
    ),
    signatures=(*LLAMA, *COMMON),
)
