"""What the facts leave open, as settings, and the list of known infidelities.

Settings come from `--settings FILE.json`, from DATA/settings.json (what was PUT last) and from
`PUT /emulator/settings`; the fields of `Settings` below are the table, each with its default.

Named infidelities (what a release must not conclude from running here):
- *process executor*: no chroot, no namespaces. The entrypoint is found inside the unpacked root and
  starts with the root (plus WORKDIR) as working folder; absolute paths in arguments, environment
  values and scripts mean the host's files. The root is shared by all instances of an image and
  writes to it stay, where the cloud gives every instance its own memory file system.
- *Python and the shell come from the host*: PATH starts with the folder of this interpreter.
- *resources are checked, not enforced*: cpu, memory, GPU, execution environment, VPC and service
  accounts are recorded and validated only. CPU is never throttled between requests.
- *bucket volumes* are the bucket as it was when the instance started, laid out in a folder of the
  instance. The mount path is replaced by that folder in arguments and plain environment values
  (not in secrets, nor inside the image's files); what is written there never reaches the bucket.
  Of the mount options only `only-dir=` is heeded; volumes of other kinds are recorded only.
- PORT is a free port picked per instance, not the declared container port; the listening address
  is not checked (0.0.0.0 is asked for by the cloud, 127.0.0.1 is enough here).
- *probes poll faster than their period*, so that ready is seen at once; the deadline is the
  declared one, capped by `startup_budget_seconds`. Liveness and readiness probes are ignored.
- *scaling out* happens when every instance is at its concurrency, not at 60 % of it.
- *several containers*: only the one with ports is started.
- *identity*: every token issued here is believed; who holds roles/run.invoker is only asked in the
  form "is allUsers in it".
- the front adds no header of its own (no X-Forwarded-For, no trace), keeps Authorization as sent
  and speaks HTTP/1.1 only; web sockets, HTTP/2, session affinity and ingress are not imitated.
- *builds* run their steps one after the other (waitFor is ignored) as local processes with the
  workspace as folder; `/workspace` in their texts is replaced by it. `secretEnv` is refused.
- *the docker builder* knows FROM scratch, ARG, COPY, ENV, WORKDIR, LABEL, ENTRYPOINT and CMD (JSON
  form) and `docker build | tag | push`; every other instruction fails the build and is named.
- *URLs* are loopback: `uri` stands for the hash form and the deterministic one, `urls` has only it.
- *quotas* are held to at create and update (per service) and, for GPUs, when an instance starts;
  CPU and memory are not counted over instances. Any region exists; `applicableLocations` names
  only those of the facts.
- *logs* are the instances' two outputs line by line (a JSON object becomes jsonPayload), requests
  that reached a revision, and exits. The newest `log_limit_bytes` to twice that are kept of each
  revision. Filters are conditions joined by AND; whatever else they hold is refused by name.
- *metrics* are two, by the minute and seen at once (the cloud shows them minutes later): requests
  that reached a revision, and instances, of which the last two hours since the start are kept.
- API rate limits only where they are set; no Artifact Registry permissions, no soft delete of
  buckets.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from meshctl.emulator.failures import invalid
from meshctl.emulator.quotas.known import default_limits

DOCKER, LOCAL = "docker", "local"

BUILDERS = {
    "gcr.io/cloud-builders/docker*": DOCKER,
    "bash*": LOCAL,
    "ubuntu*": LOCAL,
    "debian*": LOCAL,
    "gcr.io/google.com/cloudsdktool/cloud-sdk*": LOCAL,
    "python:*": LOCAL,
}

CHOICES = {
    "unknown_revision_in_traffic": ("reject", "fail"),
    "quota_increases": ("denied", "pending", "granted"),
}
# Tables of tables and the kind of their values.
TABLES = {"quota_limits": int, "secrets": str}


@dataclass
class Settings:
    """Every open point of the facts with the value this emulator uses (seconds, bytes, counts)."""

    # Traffic and revisions (facts s1, s2, s13).
    unknown_revision_in_traffic: str = "reject"  # reject (400) | fail (the operation fails)
    no_mask_clears: bool = True  # an update without mask clears what the body leaves out
    equal_template_makes_revision: bool = False
    pinned_traffic_heals: bool = True  # pins apart from a failed newest revision end Ready
    deleted_revision_drops_tag: bool = True
    delete_checks_etag: bool = False
    interrupted_operation_code: int = 13  # google.rpc code of operations cut by a restart
    project_number: str = "123456789012"
    operations_kept: int = 500
    # Limits (facts s2, s9).
    services_per_region: int = 1000
    revisions_per_service: int = 1000
    tags_per_region: int = 2000
    reads_per_minute: int = 0  # of a project and region; 0 = any number (the cloud takes 3000)
    writes_per_minute: int = 0  # likewise (the cloud takes 180)
    secrets: dict[str, dict[str, str]] = field(default_factory=dict)  # name -> version -> value
    # Instances.
    seed: int | None = None  # of the weighted choice; None = unpredictable
    startup_budget_seconds: float = 240.0
    stop_grace_seconds: float = 10.0
    drain_cap_seconds: float = 3600.0  # the revision's own timeout applies below it
    shutdown_drain_seconds: float = 5.0
    idle_seconds: float = 900.0
    retired_idle_seconds: float = 10.0  # revisions with neither traffic nor tag
    queue_seconds: float = 10.0  # then 429
    restart_backoff_cap_seconds: float = 60.0  # of minimum instances that keep dying
    log_limit_bytes: int = 5_000_000
    log_quote_lines: int = 12
    port_low: int = 20000
    port_high: int = 32767
    token_seconds: int = 3600
    # Quotas (facts s4, s13): id -> region or "default" -> value in the quota's own unit (RTX in
    # thousandths of a GPU, milli-vCPU, bytes; -1 = unlimited). An id that is left out keeps its
    # default.
    quota_limits: dict[str, dict[str, int]] = field(default_factory=default_limits)
    quota_violation_field: str = "template.scaling.max_instance_count"
    quota_failure_code: int = 13  # google.rpc code when no GPU is left at provisioning
    quota_release_seconds: float = 0.0  # a GPU stays held so long after its instance is gone
    quota_increases: str = "denied"  # denied (granted 0) | pending | granted (the limit changes)
    # Logging and Monitoring.
    log_requests: bool = True
    metric_points_kept: int = 2000  # minutes with requests remembered of each series
    # Cloud Build.
    builders: dict[str, str] = field(default_factory=lambda: dict(BUILDERS))
    failed_build_code: int = 9  # google.rpc code of the operation of a failed build
    map_workspace: bool = True

    def merge(self, values: dict[str, Any]) -> None:
        """Take over the given values; ApiError 400 for an unknown name or a wrong type."""
        for name, value in values.items():
            self._check(name, value)
        for name, value in values.items():
            setattr(self, name, value)

    def _check(self, name: str, value: Any) -> None:
        known = {f.name: getattr(Settings(), f.name) for f in fields(self)}
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f", did you mean '{near[0]}'?" if near else "."
            raise invalid(f"Unknown setting '{name}'{hint}")
        default = known[name]
        inner = TABLES.get(name)
        fits = _fits(value, default) and (inner is None or _is_table(value, inner))
        if not fits:
            raise invalid(f"Setting '{name}' has the wrong type: {value!r}.")
        if name in CHOICES and value not in CHOICES[name]:
            raise invalid(f"Setting '{name}' must be one of {', '.join(CHOICES[name])}.")
        if name == "quota_limits" and (strange := sorted(set(value) - set(default_limits()))):
            raise invalid(f"Setting '{name}' knows no quota '{strange[0]}'.")

    def to_json(self) -> dict[str, Any]:
        """The table as JSON."""
        return asdict(self)


def _fits(value: Any, default: Any) -> bool:
    """Whether a value is of its default's kind; None stands for an optional number."""
    if isinstance(value, bool) or isinstance(default, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if default is None:
        return value is None or isinstance(value, int)
    return isinstance(value, (int, float) if isinstance(default, float) else type(default))


def _is_table(value: dict[str, Any], kind: type) -> bool:
    """Whether it is name -> name -> a value of this kind."""
    rows = value.values()
    return all(isinstance(row, dict) for row in rows) and all(
        type(item) is kind for row in rows for item in row.values()
    )


def load(*files: Path | None) -> Settings:
    """Defaults overlaid by the files that exist, in order."""
    settings = Settings()
    for file in files:
        if file is not None and file.exists():
            settings.merge(json.loads(file.read_text()))
    return settings
