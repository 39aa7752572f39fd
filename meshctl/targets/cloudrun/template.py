"""A release's template in Cloud Run's JSON, and back. What is written is what is read. Pure."""

from __future__ import annotations

from typing import Any

from meshctl.plan.release import EnvSecret, Mount, StartupProbe, Template, own_account
from meshctl.quantities import cpu_text, parse_bytes
from meshctl.targets.cloudrun.odd import Odd, flag, text, texts, whole
from meshctl.targets.cloudrun.strange import digest, port_of, strange

Json = dict[str, Any]


def template_json(template: Template) -> Json:
    """The `template` of a v2 Service, every field written out, so that nothing is defaulted."""
    document: Json = {
        "scaling": {
            "minInstanceCount": template.min_instances,
            "maxInstanceCount": template.max_instances,
        },
        "timeout": f"{template.timeout_s}s",
        "maxInstanceRequestConcurrency": template.concurrency,
        "containers": [_container_json(template)],
    }
    if template.gen2 is not None:
        document["executionEnvironment"] = f"EXECUTION_ENVIRONMENT_GEN{2 if template.gen2 else 1}"
    if template.mounts:
        document["volumes"] = [_volume_json(n, mount) for n, mount in enumerate(template.mounts)]
    if template.account:
        document["serviceAccount"] = template.account
    if template.gpu:
        document["nodeSelector"] = {"accelerator": template.gpu}
        document["gpuZonalRedundancyDisabled"] = not template.zonal_redundancy
    return document


def _container_json(template: Template) -> Json:
    limits = {"cpu": template.cpu, "memory": _memory(template.memory_bytes)}
    if template.gpu:
        limits["nvidia.com/gpu"] = "1"
    container: Json = {
        "image": template.image,
        "args": list(template.args),
        "env": [*_plain_env(template), *_secret_env(template)],
        "resources": {
            "limits": limits,
            "cpuIdle": template.cpu_idle,
            "startupCpuBoost": template.cpu_boost,
        },
        "ports": [{"name": "http1", "containerPort": template.port}],
        "startupProbe": _probe_json(template.probe, template.port),
    }
    if template.mounts:
        container["volumeMounts"] = [
            {"name": _volume_name(n), "mountPath": mount.path}
            for n, mount in enumerate(template.mounts)
        ]
    if template.command:
        container["command"] = list(template.command)
    return container


def _volume_name(number: int) -> str:
    return f"payload-{number}"


def _volume_json(number: int, mount: Mount) -> Json:
    gcs: Json = {"bucket": mount.bucket, "readOnly": True}
    if mount.folder:
        gcs["mountOptions"] = [f"{_ONLY_DIR}{mount.folder}"]
    return {"name": _volume_name(number), "gcs": gcs}


_ONLY_DIR = "only-dir="
"""An option of Cloud Storage FUSE: the mount shows this folder of the bucket."""


def _plain_env(template: Template) -> list[Json]:
    return [{"name": name, "value": value} for name, value in template.env]


def _secret_env(template: Template) -> list[Json]:
    return [
        {
            "name": item.name,
            "valueSource": {"secretKeyRef": {"secret": item.secret, "version": item.version}},
        }
        for item in template.secrets
    ]


def _probe_json(probe: StartupProbe, port: int) -> Json:
    how: Json = (
        {"httpGet": {"path": probe.path, "port": port}}
        if probe.path
        else {"tcpSocket": {"port": port}}
    )
    return {
        **how,
        "periodSeconds": probe.period_s,
        "timeoutSeconds": probe.timeout_s,
        "failureThreshold": probe.failures,
    }


def _memory(count: int) -> str:
    return f"{count // 2**20}Mi" if count % 2**20 == 0 else str(count)


def template_of(document: Json) -> Template:
    """The template behind a Revision, or behind the `template` of a Service, as it was read.

    Never raises: a field that cannot be read gets a placeholder, and its value goes into `other`.
    """
    odd = Odd()
    containers = odd.rows("containers", document.get("containers"))
    container = containers[0] if containers else {}
    resources = odd.mapping("resources", container.get("resources"))
    limits = odd.mapping("limits", resources.get("limits"))
    scaling = odd.mapping("scaling", document.get("scaling"))
    variables = odd.rows("env", container.get("env"))
    gpu = _read_gpu(odd, document)
    disabled = odd.read("gpuZonal", document.get("gpuZonalRedundancyDisabled"), flag, False)
    return Template(
        image=odd.read("image", container.get("image"), text, ""),
        command=odd.read("command", container.get("command"), texts, ()),
        args=odd.read("args", container.get("args"), texts, ()),
        env=_read_env(odd, variables),
        secrets=_read_secrets(odd, variables),
        port=port_of(odd, container),
        cpu=odd.read("cpu", limits.get("cpu"), _read_cpu, "1"),
        memory_bytes=odd.read("memory", limits.get("memory"), _read_memory, 512 * 2**20),
        gpu=gpu,
        # Unset means redundancy is ON, and draws on the other quota; facts/cloud-run section 4.
        zonal_redundancy=gpu is not None and not disabled,
        concurrency=odd.read(
            "concurrency", document.get("maxInstanceRequestConcurrency"), whole, 80
        ),
        timeout_s=odd.read("timeout", document.get("timeout"), _read_seconds, 300),
        max_instances=odd.read("max", scaling.get("maxInstanceCount"), whole, 100),
        min_instances=odd.read("min", scaling.get("minInstanceCount"), whole, 0),
        account=own_account(odd.read("account", document.get("serviceAccount"), text, "")),
        probe=_read_probe(odd, container),
        cpu_idle=odd.read("cpuIdle", resources.get("cpuIdle"), flag, False) if resources else True,
        cpu_boost=odd.read("cpuBoost", resources.get("startupCpuBoost"), flag, False),
        gen2=_GENERATIONS.get(str(document.get("executionEnvironment"))),
        mounts=read_mounts(document, container) or (),
        other=_other(document, container, odd.found),
    )


_GENERATIONS = {"EXECUTION_ENVIRONMENT_GEN1": False, "EXECUTION_ENVIRONMENT_GEN2": True}
"""Anything else is Cloud Run's own choice, which a later release leaves to it as well."""


def _read_env(odd: Odd, rows: list[Json]) -> tuple[tuple[str, str], ...]:
    plain = [(n, row) for n, row in enumerate(rows) if "valueSource" not in row]
    read = [odd.read(f"env[{n}]", row, _variable, None) for n, row in plain]
    return tuple(sorted(variable for variable in read if variable))


def _variable(row: Json) -> tuple[str, str]:
    return text(row["name"]), text(row.get("value", ""))


def _read_secrets(odd: Odd, rows: list[Json]) -> tuple[EnvSecret, ...]:
    filled = [(n, row) for n, row in enumerate(rows) if "valueSource" in row]
    read = [odd.read(f"env[{n}]", row, _secret, None) for n, row in filled]
    return tuple(sorted((secret for secret in read if secret), key=lambda secret: secret.name))


def _secret(row: Json) -> EnvSecret:
    ref: Json = row["valueSource"].get("secretKeyRef") or {}
    secret, version = text(ref.get("secret", "")), text(ref.get("version", "latest"))
    return EnvSecret(name=text(row["name"]), secret=secret, version=version)


def _read_gpu(odd: Odd, document: Json) -> str | None:
    selector = odd.mapping("nodeSelector", document.get("nodeSelector"))
    return odd.read("accelerator", selector.get("accelerator"), text, "") or None


def _read_cpu(value: Any) -> str:
    number = str(value)
    return cpu_text(float(number[:-1]) / 1000 if number.endswith("m") else float(number))


def _read_memory(value: Any) -> int:
    return parse_bytes(str(value))


def _read_seconds(value: Any) -> int:
    return int(float(str(value).rstrip("s")))


def _read_probe(odd: Odd, container: Json) -> StartupProbe:
    """Absent numbers are the server's own: TCP, period 10 s, timeout 1 s, 3 failures in the API."""
    probe = odd.mapping("startupProbe", container.get("startupProbe"))
    http = odd.mapping("httpGet", probe.get("httpGet"))
    return StartupProbe(
        path=odd.read("path", http.get("path"), text, "") or None,
        period_s=odd.read("periodSeconds", probe.get("periodSeconds"), whole, 10),
        timeout_s=odd.read("timeoutSeconds", probe.get("timeoutSeconds"), whole, 1),
        failures=odd.read("failureThreshold", probe.get("failureThreshold"), whole, 3),
    )


def read_mounts(document: Json, container: Json) -> tuple[Mount, ...] | None:
    """The mounts as meshctl writes them; None when a stranger wrote other ones."""
    odd = Odd()
    volumes = {str(row.get("name")): row for row in odd.rows("", document.get("volumes"))}
    rows = odd.rows("", container.get("volumeMounts"))
    mounts = [_read_mount(row, volumes.get(str(row.get("name")), {})) for row in rows]
    known = [mount for mount in mounts if mount]
    if odd.found or len(known) != len(rows) or len(volumes) != len(rows):
        return None
    return tuple(sorted(known, key=lambda mount: mount.path))


def _read_mount(row: Json, volume: Json) -> Mount | None:
    gcs = Odd().mapping("", volume.get("gcs"))
    options = gcs.get("mountOptions") or []
    folder = str(options[0]).removeprefix(_ONLY_DIR) if options else ""
    mount = Mount(path=str(row.get("mountPath")), bucket=str(gcs.get("bucket")), folder=folder)
    written = _volume_json(0, mount)
    same = {**volume, "name": written["name"]} == written and row.keys() == {"name", "mountPath"}
    return mount if same else None


def _other(document: Json, container: Json, unread: Json) -> str:
    """A hash of what meshctl never writes but a release may hold, so that it is not overlooked."""
    found = strange(document, container, mounted=read_mounts(document, container) is not None)
    return digest(found | ({"unread": unread} if unread else {}))
