"""Failures in the words of vLLM 0.33. Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.engine import Signature

_SOURCE = "vLLM 0.33 source"

VLLM_FAILURES = (
    Signature(
        "kv-no-room",
        compile(r"No available memory for the cache blocks"),
        "weights and graphs leave no room for the KV cache",
        "weights and graphs fill the budget: quantise, or lower max-num-seqs",
        _SOURCE,
        phase="kv",
    ),
    Signature(
        "context-too-large",
        compile(
            r"To serve at least one request with the model's max seq len"
            r"(?:.*estimated maximum model length is (?P<what>\d+))?"
        ),
        "not even one request of the whole context fits in the KV cache",
        "lower the model's context to the length the line names",
        _SOURCE,
        phase="kv",
    ),
    Signature(
        "gpu-occupied",
        compile(r"Free memory on device \S+ .* is less than desired GPU memory utilization"),
        "somebody else's memory is on the card, or an engine's that has not ended",
        "another process holds the card: wait until it is gone, or lower the utilisation",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "mamba-blocks",
        compile(r"max_num_seqs \(\d+\) exceeds available Mamba cache blocks \((?P<what>\d+)\)"),
        "more requests at once than the hybrid model has state blocks",
        "lower parallel to the number of blocks",
        _SOURCE,
        phase="kv",
    ),
    Signature(
        "draft-interface",
        compile(r"Model does not support EAGLE3 interface"),
        "the model cannot give the drafter the inner states it needs",
        "take another speculative method (such as mtp), an image whose model supports it, or none",
        "a real log; vLLM 0.33 source",
        phase="load",
    ),
    Signature(
        "draft-mismatch",
        compile(
            r"Target and draft model should have the same vocabulary size"
            r"|num_speculative_tokens:\S+ must be divisible by n_predict"
            r"|Unsupported speculative method"
            r"|cannot be other value than 1 or target model tensor_parallel_size"
        ),
        "the drafter does not belong to this model",
        "the drafter does not belong to this model",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "tool-parser",
        compile(
            r"--enable-auto-tool-choice requires --tool-call-parser"
            r"|requires tool_parser:|invalid reasoning parser: "
        ),
        "this image has no parser of that name, or none was named",
        "name a parser this image knows",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "chat-template-missing",
        compile(r"chat template is no longer allowed, so you must provide a chat template"),
        "the model brings no chat template",
        "give one: --chat-template FILE",
        "transformers; wording not confirmed by a log",
    ),
    Signature(
        "quantization",
        compile(
            r"Unknown quantization method: |Quantization method specified in the model config"
            r"|Cannot find the config file for |\b\w+ is not supported for quantization method"
        ),
        "the quantization flag does not fit the payload",
        "the quantization flag does not fit the payload",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "architecture-unknown",
        compile(
            r"Model architectures \[(?P<what>[^\]]+)\] (are not supported for now"
            r"|failed to be inspected)"
        ),
        "the engine does not know this kind of model",
        "the engine is older than the model: use a newer image",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "weights-missing",
        compile(
            r"Weight files referenced in index but missing"
            r"|Cannot find any model weights with"
            r"|weights were not initialized from checkpoint"
        ),
        "files of the model are missing",
        "the download is incomplete: compare sizes and sha256 with the fleet file",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "context-over-model",
        compile(r"User-specified max_model_len \(\d+\) is greater than the derived"),
        "the context is longer than the model was made for",
        "the model's own limit is lower: lower its context",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "batch-under-context",
        compile(r"max_num_batched_tokens \(\d+\) is smaller than max_model_len"),
        "a batch is smaller than the context, and prompts are not cut into chunks",
        "raise --max-num-batched-tokens, or --enable-chunked-prefill",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "attention-backend",
        compile(r"No valid attention backend found|--kv-cache-dtype \S+ is not supported"),
        "this card has no attention kernel for that type of KV cache",
        "this dtype and card have no kernel in the image: --kv-cache-dtype auto",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "start-too-slow",
        compile(r"Timed out waiting for engine core processes to start"),
        "the weights took longer than the engine waits",
        "raise VLLM_ENGINE_READY_TIMEOUT_S (600 s unless set)",
        _SOURCE,
        phase="load",
    ),
    Signature(
        "engine-died",
        compile(
            r"EngineCore encountered a fatal error|EngineDeadError"
            r"|Worker proc \S+ died unexpectedly|Engine core process \S+ died unexpectedly"
        ),
        "a process of the engine died; the line before says why, where the log has it",
        "look further up; the server may end with exit code 0: Restart=always",
        "vLLM 0.33 source; vllm#48966",
        follows=True,
    ),
    Signature(
        "engine-not-started",
        compile(r"EngineCore failed to start|Engine core initialization failed"),
        "the engine did not start; the line before says why, where the log has it",
        "look further up, or take the log from its beginning",
        _SOURCE,
        follows=True,
    ),
)
