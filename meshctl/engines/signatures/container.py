"""Failures in the words of podman, crun, and Cloud Run about a container. Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.engine import Signature

_PULL = r"(?:initializing source|source docker://|reading manifest|pinging container registry|pull"
_PULL += r"(?:ing)? (?:access|image)).*"
_PODMAN = "podman"
_CLOUD_RUN = "Cloud Run's log"

CONTAINER = (
    Signature(
        "device-unresolved",
        compile(
            r"unresolvable CDI devices (?P<what>\S+)|stat nvidia\.com/gpu\S*: no such file"
            r"|failed to inject CDI devices"
        ),
        "podman does not know the GPU by that name",
        "`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` again after each driver update",
        "podman; nvidia-container-toolkit#1853",
        phase="system",
    ),
    Signature(
        "image-rate-limit",
        compile(r"(?i)toomanyrequests|pull rate limit"),
        "the registry gives no more images to this address for now",
        "`podman login`, a mirror, or wait",
        _PODMAN,
        phase="system",
    ),
    Signature(
        "image-denied",
        compile(
            rf"(?i){_PULL}(?:unauthorized|denied|authentication required|invalid username)"
            r"|requested access to the resource is denied"
        ),
        "the registry does not let this host have the image",
        "`podman login REGISTRY` as the unit's user; check the name",
        _PODMAN,
        phase="system",
    ),
    Signature(
        "image-missing",
        compile(rf"(?i){_PULL}(?:manifest unknown|name unknown|not found)|\bmanifest unknown\b"),
        "the registry has no such image",
        "check name and digest: `skopeo inspect docker://IMAGE`",
        _PODMAN,
        phase="system",
    ),
    Signature(
        "registry-untrusted",
        compile(rf"(?i){_PULL}x509: "),
        "the registry's certificate is not trusted by this host",
        "install its CA under /etc/containers/certs.d/REGISTRY",
        _PODMAN,
        phase="system",
    ),
    Signature(
        "registry-unreachable",
        compile(
            rf"(?i){_PULL}(?:no such host|connection refused|i/o timeout|TLS handshake timeout"
            r"|network is unreachable)"
        ),
        "the registry cannot be reached from this host",
        "check DNS and route from the host: `curl -sI https://REGISTRY/v2/`",
        _PODMAN,
        phase="system",
    ),
    Signature(
        "mount-missing",
        compile(r"statfs (?P<what>\S+): no such file or directory"),
        "the folder to mount is not on the host",
        "make it, or correct the mount: the payload may not be there yet",
        _PODMAN,
        phase="system",
    ),
    Signature(
        "container-memory",
        compile(r"Memory limit of \d+ MiB exceeded|found to be using too much memory"),
        "the container used more memory than its limit, and was ended",
        "raise `resources.memory` in the fleet file, then deploy again",
        _CLOUD_RUN,
        phase="system",
    ),
    Signature(
        "probe-failed",
        compile(r"STARTUP \w+ probe failed|failed the configured startup probe"),
        "the container did not answer its startup probe",
        "look further up for why; else give it longer: the startup probe in the fleet file",
        _CLOUD_RUN,
        phase="ready",
        follows=True,
    ),
)
