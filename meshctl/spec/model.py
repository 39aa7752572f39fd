"""What a fleet file may say, as frozen types; schema and reference are made from them. Pure."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PrivateAttr,
    Tag,
    WithJsonSchema,
    model_validator,
)

from meshctl.quantities import show_bytes, show_seconds
from meshctl.spec.scalars import Bool, Bytes, Float, Int, Seconds, Text, Unit, shown
from meshctl.spec.tree import nearest

SERVICE_NAME = r"^[a-z]([-a-z0-9]{0,47}[a-z0-9])?$"
"""Cloud Run: lowercase letters, digits and hyphens, under 50 characters, starts with a letter."""
GROUP_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$"
SHA256 = r"^[0-9a-f]{64}$"
PROJECT = r"^[a-z][-a-z0-9:.]{2,62}$"
REGION = r"^[a-z][a-z0-9-]*$"
VERSION = r"^([1-9][0-9]{0,17}|latest)$"
DAY = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
FORMS = {
    SERVICE_NAME: "1 to 49 lowercase letters, digits and hyphens, a letter first, no hyphen last",
    GROUP_NAME: "1 to 200 letters, digits, `.`, `_` and `-`, a letter or digit first",
    SHA256: "64 lowercase hex digits",
    PROJECT: "3 to 63 lowercase letters, digits and hyphens, a letter first",
    REGION: "lowercase letters, digits and hyphens",
    VERSION: "a whole number from 1",
    DAY: "a day such as 2026-11-30",
}
"""The patterns above in words, for people whose text does not match."""
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FREE = "x-"
"""Keys with this beginning are the author's own, wherever the format knows the keys by name."""


class Frozen(BaseModel):
    """Immutable; unknown keys are errors, but for those that begin with x-."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        json_schema_extra={"patternProperties": {f"^{FREE}": {}}},
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_free_keys_out(cls, data: Any) -> Any:
        if isinstance(data, dict) and any(str(key).startswith(FREE) for key in data):
            return {key: value for key, value in data.items() if not str(key).startswith(FREE)}
        return data


def _tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


_LIST = {"type": "array", "items": {"type": "string"}}
Names = Annotated[
    tuple[str, ...],
    Unit("text, or list of text", ", ".join),
    BeforeValidator(_tuple),
    WithJsonSchema({"anyOf": [{"type": "string"}, _LIST]}),
]
"""One name, or a list of them."""


SomeBytes = Annotated[Bytes | None, Unit("size", show_bytes)]
"""A size that may be left out."""
SomeSeconds = Annotated[Seconds | None, Unit("duration", show_seconds)]
"""A duration that may be left out."""


def _version(value: Any) -> Any:
    return 1 if value == "1" else value


def _emulator(value: Any) -> Any:
    if value in ("true", "false"):
        return value == "true"
    if isinstance(value, str) and not re.match(r"https?://[^/\s]", value):
        raise ValueError(f"{shown(value)} is neither true, false nor an http:// URL")
    return value


class Gpu(Frozen):
    """One kind of card in a host."""

    name: str = Field(description="What the card is called, for example R9700.")
    memory: Bytes = Field(gt=0, description="Memory of one card, with its unit.")
    count: Int = Field(default=1, ge=1, le=64, description="How many of this card the host has.")
    reserved: Bytes = Field(
        default=0, ge=0, description="What else takes of one card, such as a display."
    )
    vendor: Literal["nvidia", "amd"] | None = Field(
        default=None,
        description="Whose driver passes it into containers; default: by the name, where known.",
    )


class CloudRunTarget(Frozen):
    """A Cloud Run project and region, or the embedded cloud."""

    kind: Literal["cloudrun"] = Field(description="A Cloud Run project and region.")
    project: str = Field(pattern=PROJECT, description="The Google Cloud project id.")
    region: str = Field(pattern=REGION, description="The Cloud Run region.")
    emulator: Annotated[bool | str, BeforeValidator(_emulator)] = Field(
        default=False,
        description="true: the embedded cloud, started by meshctl itself. A URL: one that runs.",
    )
    account: str | None = Field(
        default=None, description="Service account that revisions run as; default: the project's."
    )


class PodmanTarget(Frozen):
    """A machine with systemd and podman, reached over SSH."""

    kind: Literal["podman"] = Field(description="A machine with systemd and podman.")
    address: str = Field(description="USER@HOST or HOST, as ssh takes it.")
    user: Bool = Field(
        default=False,
        description="true: units of the user that ssh logs in (`systemctl --user`, with linger). "
        "false: the system's, as root.",
    )
    gpus: tuple[Gpu, ...] = Field(default=(), description="The cards of the host.")
    unified_memory: Bool = Field(
        default=False,
        description="true: cards and processors share one memory, and compete for it.",
    )
    payloads: str = Field(
        default="/var/lib/meshctl/payloads",
        pattern=r"^(/[A-Za-z0-9][A-Za-z0-9._-]*)+$",
        description="Folder of the host that holds a folder for each payload.",
    )


Target = Annotated[CloudRunTarget | PodmanTarget, Field(discriminator="kind")]


class Build(Frozen):
    """How an image is made."""

    config: str = Field(description="The Cloud Build recipe, relative to this file.")
    context: str = Field(description="The folder that is packed, relative to this file.")
    substitutions: dict[str, Text] = Field(
        default={}, description="Values for the recipe's own _NAMES."
    )
    include: dict[str, str] = Field(
        default={},
        description="Further files in the context, as PATH: payload:NAME or package:NAME[/FOLDER].",
    )
    timeout: Seconds = Field(default=3600.0, gt=0, le=86400, description="Longest build time.")


class Image(Frozen):
    """An image that is built here (repository, tag, build) or one that exists (ref)."""

    repository: str | None = Field(default=None, description="Where built images are pushed.")
    tag: str | None = Field(default=None, description="The tag's form; {n} counts the builds.")
    build: Build | None = Field(default=None, description="How the image is made.")
    ref: str | None = Field(
        default=None, description="An existing image, pinned: REPOSITORY@sha256:DIGEST."
    )


class PayloadFile(Frozen):
    """One file of a payload: what it must weigh and hash to."""

    bytes: Bytes = Field(gt=0, description="Exact size.")
    sha256: str = Field(pattern=SHA256, description="Lowercase hex digest.")


class Payload(Frozen):
    """A model's bytes: files with sizes and digests, and where they live."""

    source: str = Field(description="hub: s3: r2: gs: https: file: package: image: and the place.")
    format: Literal["gguf", "safetensors", "opaque"] | None = Field(
        default=None, description="Default: by the ending of the files."
    )
    parameters: Int | None = Field(default=None, gt=0, description="How many weights it holds.")
    files: dict[str, PayloadFile] = Field(min_length=1, description="NAME: size and digest.")


class SecretRef(Frozen):
    """A secret by name and pinned version; the value never passes through meshctl."""

    secret: str = Field(description="Name of the secret in Secret Manager.")
    version: Annotated[str, WithJsonSchema({"type": ["string", "integer"], "pattern": VERSION})] = (
        Field(pattern=VERSION, description="A pinned version number.")
    )
    allow_latest: Bool = Field(
        default=False,
        description="Take `latest`, although a rollback would not bring the old value back.",
    )


def _env_kind(value: Any) -> str:
    return "=secret" if isinstance(value, dict | SecretRef) else "=text"


EnvValue = Annotated[
    Annotated[Text, Tag("=text")] | Annotated[SecretRef, Tag("=secret")],
    Discriminator(_env_kind),
]
"""Text, or a reference to a secret."""


Accelerator = Literal["nvidia-l4", "nvidia-rtx-pro-6000"]


class Resources(Frozen):
    """What one instance gets."""

    cpu: Float = Field(default=1.0, ge=0.08, le=30, description="Processors.")
    memory: Bytes = Field(default=512 * 2**20, gt=0, description="Memory, with its unit.")
    gpu: Accelerator | None = Field(default=None, description="The accelerator, one per instance.")
    zonal_redundancy: Bool = Field(
        default=False, description="GPU only: true draws on the redundant quota."
    )


class Scaling(Frozen):
    """How many instances, and how many requests each takes."""

    min: Int = Field(default=0, ge=0, le=100, description="Instances kept warm, and paid for.")
    min_per: Literal["service", "revision"] = Field(
        default="service",
        description="service: follows the traffic, changes at once. revision: a part of the "
        "release; every revision with a tag keeps its own.",
    )
    max: Int = Field(default=1, ge=1, le=1000, description="Never more than this.")
    concurrency: Int = Field(default=80, ge=1, le=1000, description="Requests per instance.")

    @property
    def service_min(self) -> int:
        """The minimum that is written at the level of the service."""
        return self.min if self.min_per == "service" else 0

    @property
    def revision_min(self) -> int:
        """The minimum that is written into the template, and so into the release."""
        return self.min if self.min_per == "revision" else 0


Capabilities = Annotated[
    frozenset[Literal["tools", "reasoning", "vision", "json"]],
    PlainSerializer(sorted, return_type=list[str]),  # a set has no order, and what is shown has one
]


class Model(Frozen):
    """One model a service answers for; the key is the string clients send."""

    payload: str | None = Field(default=None, description="The payload it is loaded from.")
    aliases: Names = Field(default=(), description="Further names clients may send.")
    engine: Literal["llama-server", "vllm", "generic"] = Field(
        default="llama-server", description="The engine family."
    )
    command: tuple[Text, ...] = Field(
        default=(),
        description="The engine's command; {file} {context} {parallel} {port} {id} are filled in.",
    )
    env: dict[str, Text] = Field(default={}, description="Environment of the engine.")
    context: Int | None = Field(default=None, ge=1, description="Tokens per request.")
    parallel: Int = Field(default=1, ge=1, le=256, description="Requests served at once.")
    keepalive: Literal["comment", "chunk", "off"] = Field(
        default="comment",
        description="What a client hears while it waits for a stream: SSE comments, chunks that "
        "say nothing for clients that break on comments, or nothing.",
    )
    group: str = Field(
        default="gpu",
        pattern=GROUP_NAME,
        description="The cards it is loaded on; models of one group take turns.",
    )
    sets: Names = Field(
        default=(),
        description="Models of a group that name one set are loaded together; default: alone.",
    )
    pinned: Bool = Field(
        default=False, description="Loaded at start, beside every other, and never unloaded."
    )
    ttl: SomeSeconds = Field(
        default=None,
        gt=0,
        le=86400,
        description="Unloaded after so long without a request; default: when another has its turn.",
    )
    load_timeout: SomeSeconds = Field(
        default=None, gt=0, le=86400, description="Longest load; default: MESH_LOAD_TIMEOUT, 10m."
    )
    stop_grace: Seconds = Field(
        default=10.0, gt=0, le=86400, description="From SIGTERM to SIGKILL when it is unloaded."
    )
    capabilities: Capabilities = Field(
        default=frozenset(), description="What it can do; says which checks apply."
    )
    sampling: dict[str, Float] = Field(default={}, description="The clients' own sampling.")


class Probe(Frozen):
    """How long a new instance may take to answer."""

    path: str | None = Field(default=None, description="GET this; without it the port is tried.")
    period: Seconds = Field(default=10.0, gt=0, le=240, description="Time between two tries.")
    timeout: Seconds = Field(default=5.0, gt=0, le=240, description="Longest wait for one try.")
    failures: Int = Field(default=24, ge=1, description="Tries before it counts as failed.")


class Rollout(Frozen):
    """How traffic is moved to a new release."""

    steps: tuple[Int, ...] = Field(
        default=(100,), description="Percents, rising, ending with 100; a check after each."
    )
    bake: Seconds = Field(
        default=0.0, ge=0, le=86400, description="Wait after a step before it is checked."
    )
    confirm: Int = Field(
        default=5,
        ge=0,
        le=50,
        description="How often a check that failed, then passed, is asked again.",
    )
    token_deadline: Seconds = Field(
        default=60.0, gt=0, le=3600, description="Longest wait for the first token of a check."
    )
    batches: tuple[Text, ...] = Field(
        default=(), description="Hosts: how many at a time, as numbers or percents, rising."
    )
    max_failures: Int = Field(
        default=0, ge=0, le=1000, description="Hosts: how many may fail before the rollout stops."
    )


class Platform(Frozen):
    """What Cloud Run is told about its own machinery; adopted services may say it otherwise."""

    cpu_idle: Bool = Field(
        default=False, description="true: processors only while a request runs; never with a GPU."
    )
    cpu_boost: Bool = Field(default=True, description="More processors while an instance starts.")
    generation: Literal["gen1", "gen2", "any"] | None = Field(
        default=None,
        description="Execution environment; default gen2, gen1 below one processor.",
    )


class Sweep(Frozen):
    """What counts as a stray that holds the place of a service; it is listed, ended on demand."""

    legacy: Names = Field(
        default=(), description="Names of units and containers from before meshctl."
    )
    match: str | None = Field(
        default=None,
        min_length=1,
        description="A word of this service's own command line that tells its processes apart.",
    )


class Service(Frozen):
    """One named OpenAI-compatible endpoint the fleet wants."""

    role: Literal["coordinator", "peer", "standalone"] = Field(
        default="standalone", description="What it is in the mesh."
    )
    like: str | None = Field(default=None, description="Take over what this service says.")
    name: str | None = Field(
        default=None, pattern=SERVICE_NAME, description="The Cloud Run id or unit name."
    )
    target: Names = Field(min_length=1, description="Where it runs: a name, or a list of them.")
    image: str = Field(description="The image it runs.")
    command: tuple[Text, ...] = Field(default=(), description="Replaces the image's entry point.")
    args: tuple[Text, ...] = Field(default=(), description="Arguments of the entry point.")
    port: Int = Field(default=8080, ge=1, le=65535, description="Where the container listens.")
    access: Literal["public", "private"] = Field(
        default="private", description="public: anyone may call it."
    )
    resources: Resources = Field(default=Resources(), description="What one instance gets.")
    scaling: Scaling = Field(default=Scaling(), description="How many instances.")
    timeout: Seconds = Field(default=300.0, gt=0, le=3600, description="Longest request.")
    account: str | None = Field(
        default=None, description="Service account it runs as; default: the target's."
    )
    platform: Platform = Field(default=Platform(), description="Cloud Run's own machinery.")
    probe: Probe = Field(default=Probe(), description="The startup probe.")
    env: dict[str, EnvValue] = Field(
        default={},
        description="Environment variables: text, or {secret: NAME, version: N}.",
    )
    models: dict[str, Model] = Field(default={}, description="Models it answers for.")
    default_model: str | None = Field(
        default=None, description="Which model answers when none is named; a single one is it."
    )
    deliver: Literal["bake", "fetch", "mount"] = Field(
        default="bake", description="How payloads reach the engine."
    )
    cache: SomeBytes = Field(
        default=None,
        gt=0,
        description="`deliver: fetch`: room for fetched payloads on one instance; default: for all "
        "of them. On Cloud Run it is memory.",
    )
    checks: Names = Field(default=("contract",), description="The battery it must pass.")
    rollout: Rollout = Field(default=Rollout(), description="How traffic is moved.")
    priority: Int = Field(default=0, ge=0, description="Peers: the lowest is asked first.")
    weight: Int = Field(default=1, ge=1, description="Peers of one priority: the highest first.")
    runtime: Literal["podman", "exec"] = Field(
        default="podman",
        description="Hosts: podman runs the image; exec runs `command` itself, as a plain unit.",
    )
    ports: tuple[str, ...] = Field(default=(), description="Hosts: HOST:CONTAINER.")
    devices: tuple[str, ...] = Field(
        default=(), description="Hosts: devices passed in; default: the target's cards."
    )
    mounts: dict[str, str] = Field(default={}, description="Hosts: PATH: payload:NAME or a folder.")
    shm_size: SomeBytes = Field(
        default=None, gt=0, description="Hosts: size of /dev/shm; default: podman's 64 MiB."
    )
    ulimits: dict[str, Text] = Field(
        default={}, description="Hosts: NAME: SOFT or SOFT:HARD; -1 is unlimited."
    )
    health: tuple[Text, ...] = Field(
        default=(),
        description="Hosts: run inside the container, exits 0 once it serves; only then the unit "
        "counts as started. The image must hold it.",
    )
    front: Literal["mesh"] | None = Field(
        default=None,
        description="Hosts: mesh keeps the port and holds requests while a release is replaced.",
    )
    sweep: Sweep = Field(default=Sweep(), description="Hosts: what is a stray of this service.")


class GpuPrices(Frozen):
    """What one card costs, in USD per second; a price that is left out is unknown."""

    without_redundancy: Float | None = Field(
        default=None, ge=0, description="zonal_redundancy: false."
    )
    with_redundancy: Float | None = Field(default=None, ge=0, description="zonal_redundancy: true.")


class RegionPrices(Frozen):
    """What instances cost in a region, in USD per second, used or idle."""

    vcpu: Float | None = Field(default=None, ge=0, description="One processor.")
    gib: Float | None = Field(default=None, ge=0, description="One GiB of memory.")
    gpus: dict[str, GpuPrices] = Field(default={}, description="Accelerators by name.")


class PriceList(Frozen):
    """Prices and where they come from. A region named here is not looked up in meshctl's own."""

    as_of: str = Field(pattern=DAY, description="The day on which they were true.")
    source: str = Field(min_length=1, description="Where they come from.")
    regions: dict[str, RegionPrices] = Field(min_length=1, description="Regions by name.")


class Fleet(Frozen):
    """Everything one YAML tree declares, validated and frozen. Wishes, never facts."""

    meshctl: Annotated[Literal[1], BeforeValidator(_version)] = Field(
        description="Version of this format; there is only 1."
    )
    fleet: str = Field(pattern=SERVICE_NAME, description="Name of the fleet.")
    state: str | None = Field(
        default=None, description="gs:// s3:// r2:// or a folder; default .meshctl/state."
    )
    targets: dict[str, Target] = Field(min_length=1, description="Places that run releases.")
    images: dict[str, Image] = Field(default={}, description="Images by name.")
    payloads: dict[str, Payload] = Field(default={}, description="Payloads by name.")
    services: dict[str, Service] = Field(default={}, description="Endpoints the fleet wants.")
    prices: PriceList | None = Field(
        default=None, description="Your own prices; default: list prices that meshctl knows."
    )

    _file: str = PrivateAttr(default="meshctl.yaml")
    _marks: dict[str, tuple[int, int]] = PrivateAttr(default={})

    @property
    def file(self) -> str:
        """Path of the fleet file as it was given; relative paths in it start at its folder."""
        return self._file

    def place(self, path: str) -> str:
        """`file:line:column` of a key such as `services.chat.image`, or of its nearest parent."""
        line, column = nearest(self._marks, path)
        return f"{self._file}:{line}:{column}"

    def located(self, file: str, marks: dict[str, tuple[int, int]]) -> Fleet:
        """The same fleet, knowing where its keys were written."""
        self._file, self._marks = file, marks
        return self
