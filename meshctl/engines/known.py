"""The engine families by name. Pure."""

from __future__ import annotations

from meshctl.engines.engine import Engine
from meshctl.engines.generic import GENERIC
from meshctl.engines.llama_server import LLAMA_SERVER
from meshctl.engines.vllm import VLLM

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (LLAMA_SERVER, VLLM, GENERIC)}
