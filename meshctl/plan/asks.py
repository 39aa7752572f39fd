"""What a release is asked, read from the release itself, so that no YAML is needed for it. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from meshctl.errors import MeshctlError
from meshctl.plan.release import Template
from meshctl.plan.steps import Asks, ModelAsked
from meshctl.spec.model import Rollout
from meshctl.spec.registry import MODEL_NAME, VARIABLE, parse_models


def asks_of(template: Template, battery: tuple[str, ...], policy: Rollout) -> Asks:
    """The battery over the models that the release carries in MESH_MODELS."""
    models = models_asked(template)
    return Asks(
        battery=battery,
        confirm=policy.confirm,
        token_deadline_s=policy.token_deadline,
        models=models or (),
        unreadable=models is None,
    )


def models_asked(template: Template) -> tuple[ModelAsked, ...] | None:
    """The models of a release, none where it has no registry; None where nobody can say which,
    for a release that is asked nothing would prove nothing and seem to pass."""
    if any(secret.name == VARIABLE for secret in template.secrets):
        return None
    text = template.environment.get(VARIABLE, "")
    try:
        entries = parse_models(text)
    except MeshctlError:  # a stranger wrote it, or a later meshctl with keys of its own
        return _names_alone(text)
    return tuple(
        ModelAsked(
            id=entry.id,
            aliases=entry.aliases,
            default=entry.default,
            capabilities=tuple(sorted(entry.capabilities)),
        )
        for entry in entries
    )


def _names_alone(text: str) -> tuple[ModelAsked, ...] | None:
    """What the models are called, whatever else stands there; None unless each has a name."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    if not rows or not all(_is_name(row.get("id")) for row in rows):
        return None
    return tuple(_named(row) for row in rows)


def _named(row: dict[str, Any]) -> ModelAsked:
    aliases = row.get("aliases")
    known = [alias for alias in aliases if _is_name(alias)] if isinstance(aliases, list) else ()
    return ModelAsked(id=row["id"], aliases=tuple(known), default=row.get("default") is True)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(MODEL_NAME, value) is not None
