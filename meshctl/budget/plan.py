"""The story of a budget: read the model, lay out its caches, add the rest, judge. Pure."""

from __future__ import annotations

from dataclasses import replace

from meshctl.budget.budget import Budget
from meshctl.budget.cache import Cache
from meshctl.budget.config import model_of_config
from meshctl.budget.gguf import model_of_gguf
from meshctl.budget.keys import Keys
from meshctl.budget.ledger import Ledger
from meshctl.budget.llama import llama_cache
from meshctl.budget.model import Model, Unknown
from meshctl.budget.on_llama import llama_budget
from meshctl.budget.on_vllm import vllm_budget
from meshctl.budget.settings import NOTHING, Geometry, Settings, Told
from meshctl.budget.vllm import vllm_cache


def plan_budget(geometry: Geometry, told: Told = NOTHING) -> Budget:
    """The budget of one geometry. Raises BadKey and NoContext for one that cannot be read."""
    ledger = Ledger()
    model = read_model(geometry)
    if isinstance(model, Model) and not model.parts:
        model = Unknown(model.family, "no layer keeps a cache")
    if isinstance(model, Unknown):
        ledger.note("model", model.family, "config", model.why)
        return Budget("unknown", "model", tuple(ledger.lines))
    describe(model, ledger)
    settings = Settings(geometry, ledger, told)
    if geometry.engine == "vllm":
        cache = vllm_cache(model, settings)
        found = refused(cache, ledger) or vllm_budget(model, cache, settings)
    else:
        cache = llama_cache(model, settings)
        found = refused(cache, ledger) or llama_budget(model, cache, settings)
    return replace(found, why=tuple(ledger.lines))


def read_model(geometry: Geometry) -> Model | Unknown:
    """The model behind whichever keys were written."""
    if geometry.config is not None:
        return model_of_config(Keys(geometry.config, "config"))
    return model_of_gguf(Keys(geometry.gguf or {}, "gguf"))


def describe(model: Model, ledger: Ledger) -> None:
    """What was understood of the model, so that a wrong reading shows."""
    full = sum(part.window is None for part in model.attention)
    windowed, states = len(model.attention) - full, len(model.recurrent)
    counts = [f"{full} layers of full attention"] if full else []
    counts += [f"{windowed} with a window"] if windowed else []
    counts += [f"{states} recurrent"] if states else []
    ledger.note("model", model.family, model.source, ", ".join(counts))
    shapes = dict.fromkeys(model.attention)
    for part in shapes:
        kind = "latent row" if part.latent else "keys and values"
        width = (
            f"{part.key_width}"
            if part.latent or part.key_width == part.value_width
            else f"{part.key_width} and {part.value_width}"
        )
        where = f"in a window of {part.window:,} tokens" if part.window else "of every token"
        ledger.note("kv_heads", part.kv_heads, model.source, f"{kind}, {width} wide, {where}")
    for note in model.notes:
        ledger.note("note", None, model.source, note)


def refused(cache: Cache, ledger: Ledger) -> Budget | None:
    """An engine that does not start needs no arithmetic."""
    if not cache.refusals:
        return None
    for name, why in cache.refusals:
        ledger.note("refused", name, "config", why)
    return Budget("no", cache.refusals[0][0], ())
