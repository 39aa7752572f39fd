"""How long a context a model was made for, and what comes of a shape that asks for more. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meshctl.budget.budget import Budget
from meshctl.budget.keys import BadKey
from meshctl.budget.ledger import Line
from meshctl.budget.model import Model
from meshctl.budget.plan import read_model
from meshctl.budget.settings import Geometry

_COMES_OF_IT = {
    "llama.cpp": "llama-server gives a request no more, and keeps room for the rest in vain",
    "vllm": "vLLM does not start so, unless VLLM_ALLOW_LONG_MAX_MODEL_LEN is 1",
}
"""llama-server b11434: "exceeds the training context of the model - capping"; vLLM refuses a
max_model_len above the one it derives from config.json."""


def made_for(geometry: Geometry) -> int | None:
    """The longest context of the model in tokens; None where it does not say, or where vLLM
    stretches it by a factor."""
    if geometry.config is not None and _stretched(geometry.config):
        return None
    try:
        model = read_model(geometry)
    except BadKey:
        return None
    return model.context if isinstance(model, Model) else None


def with_beyond(found: Budget, geometry: Geometry) -> Budget:
    """A shape that is longer than its model is no plain *fits*, and the story says so."""
    lines = {line.name: line.value for line in found.why}
    most, context = made_for(geometry), int(lines.get("context") or 0)
    if geometry.engine == "llama.cpp":
        context //= int(lines.get("sequences") or 1)
    if most is None or context <= most:
        return found
    text = f"{context:,} tokens a request are asked for, and the model was made for {most:,}: "
    line = Line("beyond", most, "header", text + _COMES_OF_IT[geometry.engine])
    verdict, binds = (found.verdict, found.binds)
    if verdict == "fits":
        verdict, binds = "tight", "context"
    return replace(found, verdict=verdict, binds=binds, why=(*found.why, line))


def _stretched(config: Mapping[str, Any]) -> bool:
    """Whether positions are scaled, so that `max_position_embeddings` is not the end."""
    inner = config.get("text_config")
    places = [config, inner] if isinstance(inner, Mapping) else [config]
    ropes = [place.get(key) for place in places for key in ("rope_scaling", "rope_parameters")]
    return any(isinstance(rope, Mapping) and "factor" in rope for rope in ropes)
