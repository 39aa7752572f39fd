"""The words that tell a line worth a closer look from all others. Pure."""

from __future__ import annotations

TELLS: tuple[str, ...] = (
    # complaints of any kind
    "error", "exception", "fail", "fatal", "panic", " e ", "denied", "unauthori", "refused",
    "unable", "cannot", "couldn't", "invalid", "illegal", "unknown", "unrecogni", "unexpected",
    "unsupported", "missing", "terminate", "killed", "died", "fault", "violat", "insufficient",
    "no such", "not found", "not support", "only support", "not compatible", "not within",
    "not initialized", "found no", "no cuda", "no hip", "no usable", "no valid", "no program",
    "no command", "no space", "no longer", "in use", "too many", "too old", "too quickly",
    # their subjects
    "memory", "oom", "timeout", "timed out", "unreachable", "x509", "gated", "restricted",
    "require", "rate limit", "toomanyrequests", "authentication", "unresolvable", "nvidia.com/gpu",
    "capable device", "cdi devices", "statfs", "xid", "gpu reset", "ring ", "fallen off", "avc:",
    "exceed", "greater than", "smaller than", "than 1 or", "divisible", "should have",
    "at least one request", "method specified", "relaxedunspec", "mesh_", "ulimit", "bytes there",
    "segmentation", "segfault", "sigsegv", "sigill", "start-limit",
    # milestones and ends
    "initializing", "to load model", "loading", "model loaded", "cache size", "captur",
    "startup complete", "in load_", "kv_cache_tensors", "n_slots", "warming", "listening",
    "stopping ", "sigterm", "sigint", "status=", "code=", "exit(", "exit code", "exited with",
    "deactivated", "user disabled", "probe",
)  # fmt: skip
"""Whatever a signature or a milestone knows holds one of these: tests hold each known line to it.
All other lines are passed over, which makes a long log quick, and a mesh's own reading cheap."""


def tells(line: str) -> bool:
    """Whether a line may say anything of interest."""
    return any(map(line.lower().__contains__, TELLS))
