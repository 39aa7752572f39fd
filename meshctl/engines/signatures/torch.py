"""Failures in the words of PyTorch, CUDA, ROCm and NCCL, whoever uses them. Pure."""

from __future__ import annotations

from re import Pattern, compile

from meshctl.engines.engine import Course, Phase, Signature

TORCH_MEMORY = (
    r"OutOfMemoryError|(CUDA|HIP|XPU) out of memory|(cuda|hip)ErrorOutOfMemory"
    r"|(CUDA|HIP|ROCm) error: out of memory"
)
_SOURCE = "PyTorch; phases by the milestones of vLLM 0.33, four of them in real logs"
_PHASES: tuple[tuple[Phase, Course, str, str], ...] = (
    (
        "load",
        "load",
        "the weights do not fit on the card",
        "quantise, spread it over more cards (--tensor-parallel-size), or take a larger card",
    ),
    (
        "kv",
        "kv",
        "the KV cache, or the pass that measures its room, does not fit",
        "lower --max-num-batched-tokens, --max-model-len or --kv-cache-memory-bytes",
    ),
    (
        "graphs",
        "graphs",
        "capturing graphs needs more memory than is left",
        "lower --gpu-memory-utilization by 0.02 to 0.05, capture fewer sizes, or --enforce-eager",
    ),
    (
        "warmup",
        "warmup",
        "the first passes after graph capture need more memory than is left",
        "lower --max-num-seqs, or --gpu-memory-utilization by 0.02 to 0.05",
    ),
    (
        "runtime",
        "ready",
        "a request needed more memory than was left after the start",
        "leave room: fewer slots (--max-num-seqs) or lower --max-num-batched-tokens; a start that"
        " fits is no proof of a request that does",
    ),
)


def memory_by_phase(pattern: Pattern[str], source: str = _SOURCE) -> tuple[Signature, ...]:
    """Out of memory, told apart by how far the log has come; the last one for an unknown phase."""
    known = (
        Signature(f"gpu-memory-{phase}", pattern, cause, remedy, source, phase, when=(course,))
        for phase, course, cause, remedy in _PHASES
    )
    return (*known, Signature("gpu-memory", pattern, *UNKNOWN_PHASE, source))


UNKNOWN_PHASE = (
    "the card's memory is full",
    "the release does not fit: give it less context, fewer slots or a larger card",
)

TORCH = (
    Signature(
        "sampler-memory",
        compile(r"out of memory occurred when warming up sampler with (?P<what>\d+) dummy"),
        "sampling for the most requests at once does not fit",
        "lower --max-num-seqs",
        "vLLM 0.33 source",
        phase="warmup",
        refines="gpu-memory",
    ),
    *memory_by_phase(compile(TORCH_MEMORY)),
    Signature(
        "dynamic-shape",
        compile(r"ConstraintViolationError|Constraints violated|RelaxedUnspecConstraint"),
        "torch.compile made a constant of a size that is to vary; it is not out of memory",
        "change max-num-batched-tokens or the number of slots, or --enforce-eager",
        "a real log; vllm#23970",
    ),
    Signature(
        "driver-too-old",
        compile(r"CUDA driver version is insufficient|NVIDIA driver on your system is too old"),
        "the host's driver is older than the image needs",
        "update the driver, or take an image for this one: `nvidia-smi` names its CUDA version",
        "CUDA, PyTorch",
        phase="system",
    ),
    Signature(
        "no-device",
        compile(
            r"No CUDA GPUs are available|No HIP GPUs are available|Failed to infer device type"
            r"|Found no NVIDIA driver|(?<!: )no (CUDA|ROCm)-capable device is detected"
        ),
        "the process sees no GPU",
        "give the container the device (AddDevice=nvidia.com/gpu=all, or /dev/kfd and /dev/dri),"
        " and look at the host: `nvidia-smi` or `rocm-smi`",
        "PyTorch, vLLM 0.33; wording not confirmed by a log",
        phase="system",
    ),
    Signature(
        "device-fault",
        compile(
            r"(CUDA|HIP) error: (an illegal memory access|device-side assert|unspecified launch)"
            r"|Memory access fault by GPU|HSA_STATUS_ERROR"
        ),
        "a kernel faulted on the card",
        "look for Xid or amdgpu lines: `journalctl -k`; try the image before this one",
        "CUDA, ROCm; amd-strix-halo-toolboxes#53",
    ),
    Signature(
        "collective-timeout",
        compile(r"Watchdog caught collective operation timeout"),
        "one of several cards stopped answering the others",
        "look for the worker that died first; else NCCL_P2P_DISABLE=1",
        "PyTorch; wording not confirmed by a log",
        follows=True,
    ),
    Signature(
        "cards-cannot-talk",
        compile(r"NCCL error|unhandled system error.*NCCL|ncclUnhandledCudaError|ncclSystemError"),
        "the cards cannot talk to each other",
        "NCCL_DEBUG=INFO says why; then NCCL_SOCKET_IFNAME or NCCL_P2P_DISABLE=1",
        "NCCL",
        phase="load",
    ),
    Signature(
        "bfloat16-unsupported",
        compile(r"Bfloat16 is only supported on GPUs with compute capability"),
        "the card cannot compute in bfloat16",
        "--dtype half",
        "vLLM 0.33 source",
        phase="load",
    ),
)
