"""What of llama-server's command line decides its memory, as build 11434 takes it. Pure."""

from __future__ import annotations

from meshctl.engines.serving import Flag, Serving, names

_TYPES = {name: name for name in names("f32 f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0")}

LLAMA_SERVING = Serving(
    sets=(
        Flag("context", ("-c", "--ctx-size"), unset=("0",), env="LLAMA_ARG_CTX_SIZE"),
        Flag("sequences", ("-np", "--parallel"), unset=("-1",), env="LLAMA_ARG_N_PARALLEL"),
        Flag("batched_tokens", ("-b", "--batch-size"), env="LLAMA_ARG_BATCH"),
        Flag("ubatch", ("-ub", "--ubatch-size"), env="LLAMA_ARG_UBATCH"),
        Flag("kv_dtype_k", ("-ctk", "--cache-type-k"), "word", _TYPES,
             env="LLAMA_ARG_CACHE_TYPE_K"),
        Flag("kv_dtype_v", ("-ctv", "--cache-type-v"), "word", _TYPES,
             env="LLAMA_ARG_CACHE_TYPE_V"),
        Flag("flash_attn", ("-fa", "--flash-attn"), "word",
             {"on": "true", "1": "true", "true": "true", "enabled": "true",
              "off": "false", "0": "false", "false": "false", "disabled": "false"},
             unset=("auto", "-1"), env="LLAMA_ARG_FLASH_ATTN"),
        Flag("kv_unified", ("-kvu", "--kv-unified", "-no-kvu", "--no-kv-unified"), "switch",
             {"-kvu": "true", "--kv-unified": "true", "-no-kvu": "false",
              "--no-kv-unified": "false"}, env="LLAMA_ARG_KV_UNIFIED"),
        Flag("cache_ram_mib", ("-cram", "--cache-ram"), words={"-1": "16777216"},
             env="LLAMA_ARG_CACHE_RAM"),
        Flag("swa_full", ("--swa-full",), "switch", {"--swa-full": "true"},
             env="LLAMA_ARG_SWA_FULL"),
    ),
    lightens={
        "-ngl": "keeps layers in host memory",
        "--gpu-layers": "keeps layers in host memory",
        "--n-gpu-layers": "keeps layers in host memory",
        "-ot": "may keep tensors in host memory",
        "--override-tensor": "may keep tensors in host memory",
        "-cmoe": "keeps experts in host memory",
        "--cpu-moe": "keeps experts in host memory",
        "-ncmoe": "keeps experts in host memory",
        "--n-cpu-moe": "keeps experts in host memory",
        "-nkvo": "keeps the caches in host memory",
        "--no-kv-offload": "keeps the caches in host memory",
        "--rpc": "gives layers to other machines",
        "-ts": "splits the layers unevenly",
        "--tensor-split": "splits the layers unevenly",
        "-dev": "chooses devices",
        "--device": "chooses devices",
        "-sm": "splits the model in another way",
        "--split-mode": "splits the model in another way",
        "--embedding": "serves embeddings",
        "--embeddings": "serves embeddings",
    },
    burdens={
        "-md": "loads a second model",
        "--model-draft": "loads a second model",
        "--spec-draft-model": "loads a second model",
        "-hfd": "loads a second model",
        "-hfrd": "loads a second model",
        "--hf-repo-draft": "loads a second model",
        "--spec-draft-hf": "loads a second model",
        "--spec-type": "guesses tokens ahead",
        "--lora": "loads adapters",
        "--lora-scaled": "loads adapters",
        "--control-vector": "loads control vectors",
        "--control-vector-scaled": "loads control vectors",
        "-mm": "loads a projector for images",
        "--mmproj": "loads a projector for images",
        "-mmu": "loads a projector for images",
        "--mmproj-url": "loads a projector for images",
        "--models-dir": "loads further models",
        "--models-preset": "loads further models",
        "--spec-default": "guesses tokens ahead",
    },
    plain=names("""
        -t --threads -tb --threads-batch -C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll
        -Cb --cpu-mask-batch -Crb --cpu-range-batch --cpu-strict-batch --prio-batch --poll-batch
        -n --predict --n-predict --keep --rope-scaling --rope-scale --rope-freq-base
        --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor --yarn-attn-factor --yarn-beta-slow
        --yarn-beta-fast -dt --defrag-thold -lm --load-mode --numa -mg --main-gpu -fit --fit
        -fitt --fit-target -fitc --fit-ctx --override-kv -m --model -mu --model-url -dr
        --docker-repo -hf -hfr --hf-repo -hff --hf-file -hft --hf-token --log-file --log-colors
        -lv --verbosity --log-verbosity --control-vector-layer-range --samplers -s --seed
        --sampler-seq --sampling-seq --temp --temperature --top-k --top-p --min-p --top-nsigma
        --top-n-sigma --xtc-probability --xtc-threshold --typical --typical-p --repeat-last-n
        --repeat-penalty --presence-penalty --frequency-penalty --dry-multiplier --dry-base
        --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --adaptive-target
        --adaptive-decay --dynatemp-range --dynatemp-exp --mirostat --mirostat-lr --mirostat-ent
        -l --logit-bias --grammar --grammar-file -j --json-schema -jf --json-schema-file
        -ctxcp --ctx-checkpoints --swa-checkpoints -cms --checkpoint-min-step
        -r --reverse-prompt --pooling --image-min-tokens --image-max-tokens
        --mtmd-batch-max-tokens -a --alias --tags --embd-normalize --host --port --path
        --cors-origins --cors-methods --cors-headers --api-prefix --ui-config --webui-config
        --ui-config-file --webui-config-file --tools --tools-runtime --mcp-servers-config
        --mcp-servers-json --api-key --api-key-file --ssl-key-file --ssl-cert-file
        --chat-template-kwargs -to --timeout --sse-ping-interval --threads-http --cache-reuse
        --slot-save-path --media-path --models-max --reasoning-format -rea --reasoning
        --reasoning-effort --reasoning-budget --reasoning-budget-message --chat-template
        --chat-template-file -sps --slot-prompt-similarity --sleep-idle-seconds
        --log-prompts-dir -lcs --lookup-cache-static -lcd --lookup-cache-dynamic
        -ctkd --cache-type-k-draft --spec-draft-type-k -ctvd --cache-type-v-draft
        --spec-draft-type-v --spec-draft-n-max --spec-draft-n-min --spec-draft-p-min
        --draft-p-min --spec-draft-p-split --draft-p-split -td --threads-draft
        --spec-draft-threads -tbd --threads-batch-draft --spec-draft-threads-batch
        -Cd --cpu-mask-draft --spec-draft-cpu-mask -Crd --cpu-range-draft --spec-draft-cpu-range
        --cpu-strict-draft --spec-draft-cpu-strict --prio-draft --spec-draft-prio --poll-draft
        --spec-draft-poll -Cbd --cpu-mask-batch-draft --spec-draft-cpu-mask-batch
        --cpu-strict-batch-draft --spec-draft-cpu-strict-batch --prio-batch-draft
        --spec-draft-prio-batch --poll-batch-draft --spec-draft-poll-batch -otd
        --override-tensor-draft --spec-draft-override-tensor -ncmoed --n-cpu-moe-draft
        --spec-draft-n-cpu-moe --spec-draft-ncmoe -devd --device-draft --spec-draft-device
        -ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl
        --spec-ngram-mod-n-min --spec-ngram-mod-n-max --spec-ngram-mod-n-match
        --spec-ngram-simple-size-n --spec-ngram-simple-size-m --spec-ngram-simple-min-hits
        --spec-ngram-map-k-size-n --spec-ngram-map-k-size-m --spec-ngram-map-k-min-hits
        --spec-ngram-map-k4v-size-n --spec-ngram-map-k4v-size-m --spec-ngram-map-k4v-min-hits
    """),
    bare=names("""
        -h --help --usage --version -cl --cache-list --completion-bash --perf --no-perf -e --escape
        --no-escape -kvo --kv-offload --repack -nr --no-repack --no-host --mlock --mmap --no-mmap
        -dio --direct-io -ndio --no-direct-io --list-devices --check-tensors --op-offload
        --no-op-offload --log-disable -v --verbose --log-verbose --offline --log-prefix
        --no-log-prefix --log-timestamps --no-log-timestamps --ignore-eos -bs --backend-sampling
        --cache-idle-slots --no-cache-idle-slots --context-shift --no-context-shift -sp --special
        --warmup --no-warmup --spm-infill -cb --cont-batching -nocb --no-cont-batching
        --mmproj-auto --no-mmproj --no-mmproj-auto --mmproj-offload --no-mmproj-offload
        --reuse-port --cors-credentials --no-cors-credentials --ui-mcp-proxy --webui-mcp-proxy
        --no-ui-mcp-proxy --no-webui-mcp-proxy -ag --agent -no-ag --no-agent --ui --webui --no-ui
        --no-webui --rerank --reranking --cache-prompt --no-cache-prompt --metrics --props --slots
        --no-slots --models-autoload --no-models-autoload --jinja --no-jinja
        --reasoning-preserve --no-reasoning-preserve --skip-chat-parsing --no-skip-chat-parsing
        --prefill-assistant --no-prefill-assistant --lora-init-without-apply -cmoed
        --cpu-moe-draft --spec-draft-cpu-moe --spec-draft-backend-sampling
        --no-spec-draft-backend-sampling
    """),
    idle={
        **dict.fromkeys(("-ngl", "--gpu-layers", "--n-gpu-layers"), names("all auto -1")),
        **dict.fromkeys(("-sm", "--split-mode"), names("layer")),
        "--spec-type": names("none"),
    },
    keeps={"-fit": "off", "--fit": "off"},
    shrinks_by_default=True,
    prefix="LLAMA_ARG_",
)  # fmt: skip
