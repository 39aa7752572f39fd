"""Failures in the words of llama.cpp, build 11434 and older forms. Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.engine import Signature
from meshctl.engines.signatures.torch import UNKNOWN_PHASE

_SOURCE = "llama.cpp b11434 source"
_RUN = "llama.cpp b11434, run"

LLAMA = (
    Signature(
        "file-missing",
        compile(r"failed to open GGUF file '(?P<what>[^']+)' \(No such file or directory\)"),
        "the model file is not there",
        "the payload is not where the engine looks: check the mount, or fetch it again",
        _RUN,
        phase="load",
    ),
    Signature(
        "file-denied",
        compile(r"failed to open GGUF file '(?P<what>[^']+)' \(Permission denied\)"),
        "the model file may not be read",
        "the engine's user may not read the payload: check owner, mode and label",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "not-a-gguf",
        compile(r"invalid magic characters: (?P<what>\S+)"),
        "the file is no GGUF",
        "'vers' is a Git LFS pointer, '<!do' or '<htm' a web page: fetch the file again",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "file-truncated",
        compile(r"data is not within the file bounds|failed to read key-value pairs"),
        "the file ends too early",
        "the download is incomplete: compare sizes and sha256 with the fleet file",
        _RUN,
        phase="load",
    ),
    Signature(
        "split-name",
        compile(r"invalid split file name|illegal split file idx|failed to load GGUF split"),
        "the file says that it is one part of several, and its name or its place does not",
        "name the first shard, keep every shard's own name, and fetch all of them",
        "a real log; llama.cpp b11434, run",
        phase="load",
    ),
    Signature(
        "architecture-unknown",
        compile(r"unknown model architecture: '(?P<what>[^']+)'"),
        "the engine does not know this kind of model",
        "the engine is older than the model: use a newer image",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "gpu-memory-load",
        compile(r"unable to allocate \S+ buffer|alloc_tensor_range: failed to allocate"),
        "the weights do not fit on the card",
        "fewer layers on the card (-ngl), a smaller quantisation, or a larger card",
        _SOURCE,
        phase="load",
        refines="gpu-memory",
    ),
    Signature(
        "gpu-memory-kv",
        compile(r"failed to allocate buffer for kv cache"),
        "the KV cache does not fit",
        "less context (-c), fewer slots (-np), or smaller cache types (-ctk q8_0 -ctv q8_0)",
        _SOURCE,
        phase="kv",
        refines="gpu-memory",
    ),
    Signature(
        "gpu-memory-graphs",
        compile(r"failed to allocate compute \S* ?buffers"),
        "the compute buffers do not fit",
        "a smaller batch (-ub 256), or less context (-c)",
        _SOURCE,
        phase="graphs",
        refines="gpu-memory",
    ),
    Signature(
        "gpu-memory-runtime",
        compile(r"(cudaMalloc|hipMalloc) failed: out of memory|^(CUDA|ROCm) error: out of memory"),
        "a request needed more memory than was left after the start",
        "leave room: less context (-c), fewer slots (-np), or a smaller batch (-ub)",
        _SOURCE,
        phase="runtime",
        when=("ready",),
    ),
    Signature(
        "gpu-memory",
        compile(
            r"(cudaMalloc|hipMalloc) failed: out of memory|ErrorOutOfDeviceMemory"
            r"|Device memory allocation of size \d+ failed|^(CUDA|ROCm) error: out of memory"
        ),
        *UNKNOWN_PHASE,
        _SOURCE,
    ),
    Signature(
        "fit-impossible",
        compile(r"failed to fit params to free device memory: (?P<what>.*abort)"),
        "even the least that the engine can do with does not fit",
        "a smaller quantisation or a larger card: `meshctl budget show` says what would help",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "draft-vocabulary",
        compile(r"the target and draft vocabs are not compatible"),
        "the draft model does not belong to this model",
        "take a draft model of the same family",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "chat-template",
        compile(r"chat template parsing error"),
        "the chat template of the file is not understood",
        "give a chat template of your own, or --no-jinja",
        _SOURCE,
        phase="warmup",
    ),
    Signature(
        "gpu-unused",
        compile(r"ggml_cuda_init: failed to initialize|no usable GPU found"),
        "the engine found no GPU and goes on without one",
        "give the container the device, and look at the host: `nvidia-smi` or `rocm-smi`",
        _SOURCE,
        phase="load",
        severity="warning",
    ),
    Signature(
        "kernel-fault",
        compile(r"^(CUDA|ROCm) error: (?P<what>.+)"),
        "a fault on the card",
        "a fault on the card: look for Xid lines in the host's kernel log",
        _SOURCE,
    ),
)
