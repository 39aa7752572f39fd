"""One exact version of a service, named by the hash of everything it is made of. Pure."""

from __future__ import annotations

import hashlib
import json
import re
import shlex

from meshctl.errors import SpecError
from meshctl.plan.change import Change
from meshctl.plan.unit_diff import unit_diff
from meshctl.quantities import show_bytes, show_seconds
from meshctl.spec import federation
from meshctl.spec.model import Frozen

NOT_HASHED = ("MESH_RELEASE",)
"""Added after hashing, so that the id can be carried by the release it names."""


DEFAULT_ACCOUNT = "-compute@developer.gserviceaccount.com"
"""What the server fills in when no account is given; facts/cloud-run section 1, defaults."""


def own_account(account: str | None) -> str | None:
    """The account of a release; None is the project's default one, named or not."""
    return None if not account or account.endswith(DEFAULT_ACCOUNT) else account


class EnvSecret(Frozen):
    """An environment variable that the platform fills from a secret of a pinned version."""

    name: str
    secret: str
    version: str


class StartupProbe(Frozen):
    """When a new instance counts as started; times in whole seconds, as Cloud Run takes them."""

    path: str | None
    period_s: int
    timeout_s: int
    failures: int


class Mount(Frozen):
    """A folder of a bucket that instances see, read-only; `folder` is empty for the whole."""

    path: str
    bucket: str
    folder: str


class Template(Frozen):
    """The whole normalised template that meshctl writes; two equal ones are one release.

    `other` is the hash of whatever a stranger wrote that meshctl never does, empty otherwise.
    On a host `unit`, its text without marks, is the whole release; the fields that describe it are
    read from there (`unit_template.py`), and those that only Cloud Run has say nothing.
    """

    image: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    secrets: tuple[EnvSecret, ...]
    port: int
    cpu: str
    memory_bytes: int
    gpu: str | None
    zonal_redundancy: bool
    concurrency: int
    timeout_s: int
    max_instances: int
    min_instances: int
    account: str | None
    probe: StartupProbe
    cpu_idle: bool = False
    cpu_boost: bool = True
    gen2: bool | None = True
    mounts: tuple[Mount, ...] = ()
    other: str = ""
    unit: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """The plain variables, without the ones added after hashing."""
        return dict(self.env)


class Release(Frozen):
    """A template and the id that is computed from it, never read from a label."""

    id: str
    template: Template


def release_of(template: Template) -> Release:
    """Name a template: `r` and ten hex digits of the SHA-256 of its canonical JSON."""
    document = {"unit": template.unit} if template.unit else _hashed(template)
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return Release(id=f"r{digest[:10]}", template=template)


def _hashed(template: Template) -> dict[str, object]:
    kept = [(name, value) for name, value in template.env if name not in NOT_HASHED]
    document = {**template.model_dump(mode="json"), "env": sorted(kept)}
    del document["unit"]
    if not template.mounts:
        del document["mounts"]  # a key that came later does not rename the releases before it
    return document


def changes(before: Template | None, after: Template) -> tuple[Change, ...]:
    """The keys that differ between two templates, env key by key, sorted by path."""
    old = _flat(before) if before else {}
    new = _flat(after)
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    found = [Change(path=key, before=old.get(key), after=new.get(key)) for key in differing]
    if after.unit:
        found += _of_units(before.unit if before else None, after.unit)
    return tuple(found)


def _of_units(before: str | None, after: str) -> list[Change]:
    """What differs in the text; of variables it was told already, by the keys of the fleet file."""
    found = unit_diff(before, after)
    return [change for change in found if ".Environment." not in change.path]


_FLEET_KEYS = {
    "cpu": "resources.cpu",
    "memory_bytes": "resources.memory",
    "gpu": "resources.gpu",
    "zonal_redundancy": "resources.zonal_redundancy",
    "concurrency": "scaling.concurrency",
    "max_instances": "scaling.max",
    "timeout_s": "timeout",
    "min_instances": "scaling.min_per_revision",
    "cpu_idle": "platform.cpu_idle",
    "cpu_boost": "platform.cpu_boost",
    "gen2": "platform.gen2",
    "other": "platform.other",
}
"""Under which key of the fleet file a person finds a field; `platform` ones are not declared."""


def _flat(template: Template) -> dict[str, str]:
    if template.unit:
        return _variables(template)
    plain = template.model_dump(mode="json", exclude={"env", "secrets", "probe", "mounts"})
    flat = {_FLEET_KEYS.get(k, k): _shown(v) for k, v in plain.items() if v not in _NOTHING}
    flat |= {f"probe.{key}": _shown(v) for key, v in template.probe.model_dump().items() if v}
    flat |= _variables(template)
    flat |= {f"mounts.{m.path}": f"gs://{m.bucket}/{m.folder}" for m in template.mounts}
    flat |= {f"env.{s.name}": f"secret {s.secret} version {s.version}" for s in template.secrets}
    flat["resources.memory"] = show_bytes(template.memory_bytes)
    flat["timeout"] = show_seconds(template.timeout_s)
    return flat


def _variables(template: Template) -> dict[str, str]:
    """Variables one by one; the registry of models as the keys that it was rendered from."""
    flat = {f"env.{name}": value for name, value in template.env if name not in NOT_HASHED}
    models = _models(flat.get("env.MESH_MODELS", ""))
    if models:
        del flat["env.MESH_MODELS"]
        default = flat.pop("env.MESH_DEFAULT_MODEL", "")
        models |= {"default_model": default} if default else {}
    peers = _peers(flat.get(f"env.{federation.VARIABLE}", ""))
    if peers:
        del flat[f"env.{federation.VARIABLE}"]
    cache = flat.get("env.MESH_CACHE", "")
    if re.fullmatch(r"[0-9]{1,18}", cache):  # else a stranger wrote it
        del flat["env.MESH_CACHE"]
        models |= {"cache": show_bytes(int(cache))}
    return flat | models | peers


def _peers(text: str) -> dict[str, str]:
    """`peers.ID`: where it is, what it answers for, and in which order it is asked; nothing for a
    text that is no announcement."""
    try:
        entries = federation.parse_peers(text)
    except (SpecError, RecursionError):
        return {}
    return {
        f"peers.{entry.id}": f"{entry.base_url} for {', '.join(entry.models)}, "
        f"priority {entry.priority}, weight {entry.weight}"
        for entry in entries
    }


def _models(text: str) -> dict[str, str]:
    """`models.ID.KEY` for each key of each entry, env key by key; nothing for a text that is no
    registry."""
    flat: dict[str, str] = {}
    try:
        for entry in json.loads(text or "[]"):
            path = f"models.{entry['id']}"
            flat |= {f"{path}.{key}": _shown(entry[key]) for key in entry.keys() - _ELSEWHERE}
            flat |= {f"{path}.files.{file['path']}": _file(file) for file in entry.get("files", ())}
            flat |= {f"{path}.env.{k}": _shown(v) for k, v in entry.get("env", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError):  # a stranger wrote it
        return {}
    return flat


_ELSEWHERE = {"id", "default", "files", "env"}
"""Keys shown otherwise; whoever prints changes knows env values by `.env.` and hides them."""


def _file(file: dict[str, object]) -> str:
    return f"{file['bytes']} bytes, sha256:{file['sha256']}"


_NOTHING: tuple[object, ...] = (None, [], "", False)


def _shown(value: object) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
