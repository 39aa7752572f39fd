"""Logs of boots, in the words of facts/serving 2.2 and 3.1; the sizes are those of an 8B model."""

from __future__ import annotations

import json

VLLM_033 = """\
(APIServer pid=1) INFO 11-30 20:45:00 [api_server.py:99] vLLM API server version 0.33.0
(EngineCore pid=70) INFO 11-30 20:45:09 [core.py:80] Initializing a V1 LLM engine (v0.33.0) with \
config: model='/models/m', max_seq_len=8192
(EngineCore pid=70) INFO 11-30 20:45:10 [gpu_model_runner.py:1] Starting to load model /models/m...
(EngineCore pid=70) INFO 11-30 20:45:20 [gpu_model_runner.py:2] Model loading took 14.99 GiB \
memory and 9.123456 seconds
(EngineCore pid=70) INFO 11-30 20:45:40 [gpu_worker.py:3] Available KV cache memory: 3.29 GiB
(EngineCore pid=70) INFO 11-30 20:45:41 [kv_cache_utils.py:4] GPU KV cache size: 26,944 tokens, \
Maximum concurrency for 8,192 tokens per request: 3.29x
(EngineCore pid=70) INFO 11-30 20:45:50 [gpu_model_runner.py:5] Graph capturing finished in 9 \
secs, took 0.52 GiB
(EngineCore pid=70) INFO 11-30 20:45:51 [core.py:6] init engine (profile, create kv cache, warmup \
model) took 30.91 s (compilation: 12.00 s)
(APIServer pid=1) INFO:     Application startup complete.
"""
VLLM_010 = """\
INFO 07-28 23:02:00 [core.py:69] Initializing a V1 LLM engine (v0.10.0) with config: model='m'
(EngineCore_0 pid=70) INFO 07-28 23:02:20 [gpu_model_runner.py:1] Model loading took 14.9900 GiB \
and 9.49 seconds
(EngineCore_0 pid=70) INFO 07-28 23:02:26 [gpu_worker.py:276] Available KV cache memory: 3.29 GiB
INFO 07-28 23:02:27 [kv_cache_utils.py:833] GPU KV cache size: 26,944 tokens
INFO 07-28 23:02:27 [kv_cache_utils.py:837] Maximum concurrency for 8,192 tokens per request: 3.29x
INFO 07-28 23:02:40 [gpu_model_runner.py:5] Graph capturing finished in 12 secs, took 0.52 GiB
INFO:     Application startup complete.
"""
VLLM_06 = """\
INFO 11-05 10:00:00 llm_engine.py:1] Initializing an LLM engine (v0.6.4) with config: model='m'
INFO 11-05 10:00:20 model_runner.py:1] Loading model weights took 14.9888 GB
INFO 11-05 10:00:26 worker.py:1] the rest of the memory reserved for KV Cache is 3.81GiB.
INFO 11-05 10:00:27 gpu_executor.py:1] # GPU blocks: 1952, # CPU blocks: 2048
INFO 11-05 10:00:27 gpu_executor.py:2] Maximum concurrency for 8192 tokens per request: 3.81x
INFO:     Application startup complete.
"""
LLAMA = """\
0.00.018.112 I cmn  common_param: common_params_print_info: build 11434 (7e4c0a9) with GNU 11.4.0
0.00.036.330 I srv    load_model: loading model '/models/m.gguf'
0.00.037.216 I print_info: n_ctx_train           = 131072
0.00.039.460 I load_tensors: offloaded 33/33 layers to GPU
0.00.039.472 I load_tensors:   CPU_Mapped model buffer size =   532.31 MiB
0.00.039.473 I load_tensors:        CUDA0 model buffer size =  7660.00 MiB
0.00.039.835 I llama_context: n_ctx                 = 8192
0.00.039.845 I llama_context: n_ctx_seq             = 4096
0.00.039.966 I llama_context:  CUDA_Host  output buffer size =     0.98 MiB
0.00.044.538 I llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB
0.00.051.474 I llama_kv_cache: size = 1024.00 MiB (  4096 cells,  32 layers,  2/2 seqs), K (f16): \
 512.00 MiB, V (f16):  512.00 MiB
0.00.069.169 I sched_reserve:      CUDA0 compute buffer size =   258.50 MiB
0.00.069.170 I sched_reserve:  CUDA_Host compute buffer size =    24.01 MiB
0.03.040.983 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 4096, kv_unified = 'false'
0.03.061.059 I srv  llama_server: model loaded
0.03.061.073 I srv  llama_server: listening on http://127.0.0.1:8080
"""
LLAMA_QUIET = "\n".join(line for line in LLAMA.splitlines() if "srv" in line)
"""What the usual verbosity leaves of it."""


def as_json(log: str) -> str:
    """The same with --log-jsonl, and an event of it that is no line of a log."""
    event = {"type": "fit_memory_breakdown", "time": 1, "devices": [{"model": 7660}]}
    lines = [{"type": "log", "time": 1, "level": "info", "msg": f"{line.split(' I ')[1]}\n"}
             for line in log.splitlines()]  # fmt: skip
    return "\n".join(json.dumps(line) for line in (event, *lines))
