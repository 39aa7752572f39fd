"""Any program that answers OpenAI requests on a port it is told. Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.common import COMPLAINT
from meshctl.engines.engine import Engine
from meshctl.engines.signatures.common import COMMON
from meshctl.engines.signatures.hub import HUB
from meshctl.engines.signatures.torch import TORCH

GENERIC = Engine(
    name="generic",
    program="",
    arguments=(),
    flags=None,
    whole_payload=False,
    total_context=False,
    names_separator=None,
    port_line=None,
    ready_path="/health",
    metric_prefix="",
    prefix=compile(r"^"),
    error=compile(COMPLAINT),
    wrappers=compile(r"(?!)"),
    milestones=(),
    signatures=(*TORCH, *HUB, *COMMON),
)
