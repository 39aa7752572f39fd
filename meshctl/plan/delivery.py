"""How payloads reach the engine: in the image, mounted from a bucket, or fetched. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.plan import fetching
from meshctl.plan.release import Mount
from meshctl.quantities import show_bytes
from meshctl.spec.model import Fleet, Payload, PayloadFile, Service
from meshctl.spec.sources import Source, file_source, parse_source

MODELS_DIR = "MESH_MODELS_DIR"
DEFAULT_DIR = "/models"
"""Where the mesh looks for PAYLOAD/FILE when payloads are mounted; an env value of the service
wins."""
GPU_BYTES = {"nvidia-l4": 24 * 2**30, "nvidia-rtx-pro-6000": 96 * 2**30}
"""Memory of the cards Cloud Run has; facts/cloud-run section 4 and the data sheets (L4: 24 GB)."""

Problem = tuple[str, str, str]
"""The key below the service, what is wrong with it, and the way out."""


def payloads_of(service: Service) -> list[str]:
    """The payloads its models are loaded from, each once, by name."""
    return sorted({model.payload for model in service.models.values() if model.payload})


def files_of(fleet: Fleet, service: Service) -> dict[str, PayloadFile]:
    """Every payload file of a service as `PAYLOAD/FILE`, which is where the mesh looks for it."""
    return {
        f"{payload}/{name}": file
        for payload in payloads_of(service)
        for name, file in fleet.payloads[payload].files.items()
    }


def mounts_of(fleet: Fleet, service: Service) -> tuple[Mount, ...]:
    """One read-only folder of a bucket for each payload that is mounted, sorted by path."""
    if service.deliver != "mount":
        return ()
    folder = models_dir(service)
    return tuple(
        Mount(path=f"{folder}/{payload}", bucket=source.place, folder=directory)
        for payload in payloads_of(service)
        for source, directory in (folder_of(fleet.payloads[payload]),)
        if source.scheme == "gs"
    )


def objects_of(fleet: Fleet, service: Service) -> dict[str, str]:
    """The source of every mounted or fetched file: `PAYLOAD/FILE` -> `gs://BUCKET/KEY`."""
    if service.deliver == "fetch":
        return _sources(fleet, service)
    if service.deliver != "mount":
        return {}
    return {
        f"{payload}/{name}": f"gs://{source.place}/{f'{directory}/' if directory else ''}{name}"
        for payload in payloads_of(service)
        for source, directory in (folder_of(fleet.payloads[payload]),)
        for name in fleet.payloads[payload].files
    }


def _sources(fleet: Fleet, service: Service) -> dict[str, str]:
    return {
        f"{payload}/{name}": file_source(parse_source(found.source), found.files, name)
        for payload in payloads_of(service)
        for found in (fleet.payloads[payload],)
        for name in found.files
    }


def models_dir(service: Service) -> str:
    """Where the mesh of this service finds mounted payloads."""
    declared = service.env.get(MODELS_DIR)
    return declared.rstrip("/") if isinstance(declared, str) else DEFAULT_DIR


def folder_of(payload: Payload) -> tuple[Source, str]:
    """The source, and the folder in it that holds the files: a source may name its only file."""
    source = parse_source(payload.source)
    path, files = source.path.rstrip("/"), list(payload.files)
    if len(files) == 1 and (path == files[0] or path.endswith(f"/{files[0]}")):
        path = path.removesuffix(files[0]).rstrip("/")
    return source, path


def problems(fleet: Fleet, service: Service) -> Iterator[Problem]:
    """Why payloads cannot get where the engine looks for them, or cannot be held there."""
    if not payloads_of(service):
        return
    if service.deliver == "mount":
        yield from _unmountable(fleet, service)
    if service.deliver == "fetch":
        yield from fetching.problems(fleet, service, payloads_of(service))
    else:
        yield from _too_large(fleet, service)


def _unmountable(fleet: Fleet, service: Service) -> Iterator[Problem]:
    for payload in payloads_of(service):
        source = fleet.payloads[payload].source
        if not source.startswith("gs:"):
            message = (
                f"payload {payload} lies in {source.partition(':')[0]}:, and only a bucket of "
            )
            hint = f"copy it to gs://BUCKET/{payload}/ and write that as its source"
            yield "deliver", f"{message}Cloud Storage can be mounted", hint
    if service.resources.cpu < 1:
        yield (
            "resources.cpu",
            "mounts need the second generation, which needs a whole cpu",
            "cpu: 1",
        )
    if not models_dir(service).startswith("/"):
        message = f"a mount needs an absolute path, and {MODELS_DIR} is {models_dir(service)!r}"
        yield f"env.{MODELS_DIR}", message, f"write {DEFAULT_DIR}, or leave it out"


def _too_large(fleet: Fleet, service: Service) -> Iterator[Problem]:
    """A bound that no engine gets below: the weights of one model in all the memory there is."""
    resources = service.resources
    room = resources.memory + GPU_BYTES.get(resources.gpu or "", 0)
    for name, model in sorted(service.models.items()):
        files = fleet.payloads[model.payload].files if model.payload else {}
        weight = sum(file.bytes for file in files.values())
        if weight > room:
            message = (
                f"{name} weighs {show_bytes(weight)}, and card and memory together have "
                f"{show_bytes(room)}"
            )
            yield f"models.{name}", message, "raise resources, or take a smaller quantisation"
