"""What the fleet wants a service to be, in the form in which releases are compared. Pure."""

from __future__ import annotations

import math

from meshctl.plan.delivery import DEFAULT_DIR, MODELS_DIR, mounts_of
from meshctl.plan.fetching import CACHE
from meshctl.plan.release import (
    EnvSecret,
    Release,
    StartupProbe,
    Template,
    own_account,
    release_of,
)
from meshctl.quantities import cpu_text, show_bytes
from meshctl.spec import federation
from meshctl.spec.model import CloudRunTarget, Fleet, Image, SecretRef, Service
from meshctl.spec.registry import default_model_of, registry_of, render_models
from meshctl.state.builds import Built


def wanted_release(
    fleet: Fleet, service: Service, target: CloudRunTarget, image: str, peers: str = ""
) -> Release:
    """The release the fleet wants; `image` is `REPOSITORY@sha256:DIGEST`, and `peers` the text that
    a coordinator announces, as state/peers.py reads it from the journal."""
    return release_of(_template(fleet, service, target, image, peers))


def _template(
    fleet: Fleet, service: Service, target: CloudRunTarget, image: str, peers: str
) -> Template:
    resources, probe = service.resources, service.probe
    return Template(
        image=image,
        command=service.command,
        args=service.args,
        env=env_of(fleet, service, peers),
        secrets=secrets_of(service),
        port=service.port,
        cpu=cpu_text(resources.cpu),
        memory_bytes=resources.memory,
        gpu=resources.gpu,
        zonal_redundancy=bool(resources.gpu) and resources.zonal_redundancy,
        concurrency=service.scaling.concurrency,
        timeout_s=math.ceil(service.timeout),
        max_instances=service.scaling.max,
        min_instances=service.scaling.revision_min,
        account=own_account(service.account or target.account),
        probe=StartupProbe(
            path=probe.path,
            period_s=math.ceil(probe.period),
            timeout_s=math.ceil(probe.timeout),
            failures=probe.failures,
        ),
        cpu_idle=service.platform.cpu_idle,
        cpu_boost=service.platform.cpu_boost,
        gen2=_second_generation(service),
        mounts=mounts_of(fleet, service),
    )


def _second_generation(service: Service) -> bool | None:
    """Below one processor Cloud Run knows only the first; None leaves it to Cloud Run."""
    said = service.platform.generation
    if said is None:
        return service.resources.cpu >= 1
    return None if said == "any" else said == "gen2"


def env_of(fleet: Fleet, service: Service, peers: str = "") -> tuple[tuple[str, str], ...]:
    """The plain variables, those included that are written from other keys or from the journal."""
    plain = {name: value for name, value in service.env.items() if isinstance(value, str)}
    if service.models:
        plain["MESH_MODELS"] = render_models(registry_of(fleet, service))
        plain["MESH_DEFAULT_MODEL"] = default_model_of(service) or ""
    if mounts_of(fleet, service) and MODELS_DIR not in service.env:
        plain[MODELS_DIR] = DEFAULT_DIR
    if service.deliver == "fetch" and service.cache and service.models:
        plain[CACHE] = str(service.cache)
    if service.role == "coordinator" and peers:
        plain[federation.VARIABLE] = peers
    return tuple(sorted(plain.items()))


def secrets_of(service: Service) -> tuple[EnvSecret, ...]:
    """The variables that the platform fills from Secret Manager."""
    refs = {name: ref for name, ref in service.env.items() if isinstance(ref, SecretRef)}
    return tuple(
        EnvSecret(name=name, secret=ref.secret, version=ref.version)
        for name, ref in sorted(refs.items())
    )


def speaks_mesh(what: Service | Template) -> bool:
    """Whether the mesh answers, and so can say which release it is."""
    return "mesh" in what.args


def image_reference(image: Image, built: Built | None) -> str | None:
    """The digest a release names: a pinned reference, or the newest recorded build."""
    if image.ref:
        return image.ref
    return f"{built.repository}@{built.digest}" if built else None


def missing_payloads(fleet: Fleet, service: Service, built: Built | None) -> list[str]:
    """Baked payload files that the build did not put into the image, each with the reason."""
    problems = []
    for model, entry in sorted(service.models.items()):
        payload = fleet.payloads[entry.payload] if entry.payload else None
        for name, file in sorted(payload.files.items()) if payload else ():
            where = f"{entry.payload}/{name}"
            baked = {path: f for path, f in (built.files if built else {}).items()
                     if (f.sha256, f.bytes) == (file.sha256, file.bytes)}  # fmt: skip
            if not baked:
                problems.append(f"{model}: {name} ({show_bytes(file.bytes)}) is not in the image")
            elif not any(path.endswith(f"/{where}") for path in baked):
                found = ", ".join(sorted(baked))
                problems.append(f"{model}: the mesh looks for models/{where}; it is in {found}")
    return problems
