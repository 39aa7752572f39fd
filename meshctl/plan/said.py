"""What a template says, as the keys of a service that say the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meshctl.plan.observed import ServiceSeen
from meshctl.plan.release import EnvSecret, Template
from meshctl.spec.model import Probe
from meshctl.spec.registry import ModelEntry
from meshctl.spec.written import duration, size

LATEST_VERSION = "latest"


def shape(seen: ServiceSeen, template: Template) -> dict[str, Any]:
    """What an instance gets, and how many there are."""
    return {
        "resources": _resources(template),
        "scaling": {
            **_minimum(seen, template),
            "max": template.max_instances,
            "concurrency": template.concurrency,
        },
        "timeout": duration(template.timeout_s),
    }


def _minimum(seen: ServiceSeen, template: Template) -> dict[str, Any]:
    """At the level where it stands; with one at both levels no key says so, which is told."""
    if template.min_instances and not seen.scaling.min:
        return {"min": template.min_instances, "min_per": "revision"}
    return {"min": seen.scaling.min}


def _resources(template: Template) -> dict[str, Any]:
    found: dict[str, Any] = {"cpu": _cpu(template.cpu), "memory": size(template.memory_bytes)}
    if template.gpu:
        found |= {"gpu": template.gpu, "zonal_redundancy": template.zonal_redundancy}
    return found


def _cpu(text: str) -> int | float:
    return int(text[:-1]) / 1000 if text.endswith("m") else int(text)


def platform(template: Template) -> dict[str, Any]:
    """Only what differs from what meshctl would write by itself."""
    found: dict[str, Any] = {"cpu_idle": True} if template.cpu_idle else {}
    found |= {} if template.cpu_boost else {"cpu_boost": False}
    if template.gen2 != (_cpu(template.cpu) >= 1):
        found["generation"] = {True: "gen2", False: "gen1", None: "any"}[template.gen2]
    return {"platform": found} if found else {}


def probe(template: Template) -> dict[str, Any]:
    """The startup probe, its failures only where they are not the usual ones."""
    asked, usual = template.probe, Probe()
    found: dict[str, Any] = {"path": asked.path} if asked.path else {}
    found |= {"period": duration(asked.period_s), "timeout": duration(asked.timeout_s)}
    found |= {} if asked.failures == usual.failures else {"failures": asked.failures}
    return {"probe": found}


def env(template: Template, drop: Iterable[str]) -> dict[str, Any]:
    """The variables but for those to `drop`, which other keys say."""
    found: dict[str, Any] = {k: v for k, v in template.env if k not in set(drop)}
    found |= {secret.name: _secret(secret) for secret in template.secrets}
    return {"env": dict(sorted(found.items()))} if found else {}


def _secret(secret: EnvSecret) -> dict[str, Any]:
    """A service that follows the latest version goes on doing so, and is marked for it."""
    allowed = {"allow_latest": True} if secret.version == LATEST_VERSION else {}
    return {"secret": secret.secret, "version": secret.version, **allowed}


def models(entries: tuple[ModelEntry, ...]) -> dict[str, Any]:
    """The models and the default among them; their files stand with the payloads."""
    if not entries:
        return {}
    default = next((entry.id for entry in entries if entry.default), None)
    found: dict[str, Any] = {"models": {entry.id: _model(entry) for entry in entries}}
    return found | ({"default_model": default} if default else {})


def _model(entry: ModelEntry) -> dict[str, Any]:
    known = entry.model_dump(mode="json", exclude_defaults=True)
    return {key: value for key, value in known.items() if key not in ("id", "files", "default")}
