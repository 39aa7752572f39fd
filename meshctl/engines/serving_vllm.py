"""What of `vllm serve`'s command line decides its memory, as 0.33 takes it. Pure."""

from __future__ import annotations

from meshctl.engines.serving import Flag, Serving, names

_TYPES = {"float16": "f16", "half": "f16", "bfloat16": "bf16", "fp8": "fp8", "fp8_e4m3": "fp8",
          "fp8_e5m2": "fp8", "nvfp4": "nvfp4"}  # fmt: skip
_SSM = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}

VLLM_SERVING = Serving(
    sets=(
        Flag("context", ("--max-model-len",), "people", unset=("-1", "auto")),
        Flag("sequences", ("--max-num-seqs",), "people"),
        Flag("batched_tokens", ("--max-num-batched-tokens",), "people"),
        Flag("tp", ("-tp", "--tensor-parallel-size")),
        Flag("utilisation", ("--gpu-memory-utilization",), "float"),
        Flag("kv_memory_bytes", ("--kv-cache-memory-bytes", "--kv-cache-memory"), "people"),
        Flag("kv_dtype", ("--kv-cache-dtype",), "word", _TYPES, unset=("auto",)),
        Flag("ssm_dtype", ("--mamba-ssm-cache-dtype",), "word", _SSM, unset=("auto",)),
        Flag("block_size", ("--block-size",)),
        Flag("prefix_caching", ("--enable-prefix-caching", "--no-enable-prefix-caching"), "switch",
             {"--enable-prefix-caching": "true", "--no-enable-prefix-caching": "false"}),
        Flag("spec_tokens", ("--speculative-config", "-sc"), "json",
             inside="num_speculative_tokens"),
    ),
    lightens={
        "-pp": "gives layers to further devices",
        "--pipeline-parallel-size": "gives layers to further devices",
        "-ep": "spreads experts over devices",
        "--enable-expert-parallel": "spreads experts over devices",
        "--enable-expert-offload": "keeps experts in host memory",
        "--expert-precise-memory": "sizes the experts on the card",
        "--cpu-offload-gb": "keeps weights in host memory",
        "--quantization": "may shrink the weights while it loads",
        "-q": "may shrink the weights while it loads",
        "--load-format": "loads other weights",
        "--language-model-only": "leaves out what is not text",
        "--hf-overrides": "changes what the model is",
        "--num-gpu-blocks-override": "sets the number of blocks",
        "-dcp": "spreads the caches over devices",
        "--decode-context-parallel-size": "spreads the caches over devices",
    },
    burdens={
        "--enable-lora": "keeps adapters on the device",
        "--lora-modules": "keeps adapters on the device",
        "--max-loras": "keeps adapters on the device",
        "--disable-hybrid-kv-cache-manager": "charges windows for the whole context",
        "-dp": "runs further copies",
        "--data-parallel-size": "runs further copies",
        "--dtype": "changes the type of the weights",
        "--no-enable-chunked-prefill": "profiles with a whole prompt",
    },
    shrinks={("--max-model-len", value): "the engine chooses the context" for value in
             ("-1", "auto")},
    idle={
        "--dtype": names("auto half float16 bfloat16"),
        "--load-format": names("auto safetensors fastsafetensors runai_streamer mistral"),
        **dict.fromkeys(("-pp", "--pipeline-parallel-size", "-dp", "--data-parallel-size",
                         "-dcp", "--decode-context-parallel-size", "--cpu-offload-gb"),
                        names("0 1")),
    },
    plain=names("""
        --model --served-model-name --host --port --uds --api-key --reasoning-parser
        --tool-call-parser --tool-parser-plugin --chat-template --chat-template-content-format
        --default-chat-template-kwargs --tokenizer --tokenizer-mode --revision
        --code-revision --tokenizer-revision --config-format --download-dir --seed --max-logprobs
        --limit-mm-per-prompt --mm-processor-kwargs --mm-processor-cache-gb --swap-space
        --generation-config --override-generation-config --compilation-config -O
        --cuda-graph-sizes --attention-backend --distributed-executor-backend --nnodes
        --node-rank --master-addr --master-port --root-path --middleware --ssl-keyfile
        --ssl-certfile --ssl-ca-certs --response-role --log-config-file --max-log-len
        --uvicorn-log-level --allowed-origins --allowed-methods --allowed-headers --convert
        --runner --task --scheduling-policy --long-prefill-token-threshold
        --max-num-partial-prefills --structured-outputs-config --guided-decoding-backend
        --kv-transfer-config --kv-events-config --otlp-traces-endpoint --hf-token --config
        --prefix-caching-hash-algo --api-server-count --stream-interval --rope-scaling
        --rope-theta --max-seq-len-to-capture --safetensors-load-strategy
    """),
    bare=names("""
        --trust-remote-code --enforce-eager --no-enforce-eager --enable-auto-tool-choice
        --disable-log-stats --disable-log-requests --enable-log-requests --no-enable-log-requests
        --enable-chunked-prefill --disable-custom-all-reduce --async-scheduling
        --no-async-scheduling --enable-server-load-tracking --disable-uvicorn-access-log
        --enable-prompt-tokens-details --enable-request-id-headers --enable-sleep-mode
        --skip-mm-profiling --enable-force-include-usage --return-tokens-as-token-ids
        --disable-fastapi-docs --enable-reasoning --use-v2-block-manager --headless -h --help
        --calculate-kv-scales --kv-sharing-fast-prefill --exclude-tools-when-tool-choice-none
    """),
    equals=True,
)  # fmt: skip
