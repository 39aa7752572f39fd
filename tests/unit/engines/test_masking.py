"""Keys of known forms are masked in lines of logs; numbers of tokens are not."""

from __future__ import annotations

import pytest

from meshctl.engines.masking import masked

KEY = "Zx9" * 14


@pytest.mark.parametrize(
    "line",
    [
        f"hf_{KEY}",
        f"sk-{KEY}",
        f"ghp_{KEY}",
        f"Authorization: Bearer {KEY}",
        f"--api-key {KEY}",
        f"--api-key={KEY}",
        f"HF_TOKEN={KEY}",
        f"'api_key': '{KEY}', 'port': 1",
        f'{{"password": "{KEY}"}}',
        f"https://me:{KEY}@host/x",
        f"https://host/x?X-Goog-Signature={KEY}&y=1",
        f"eyJ{KEY}.{KEY}.{KEY}",
        f"MESH_ADMIN_TOKEN: {KEY}",
    ],
)
def test_a_key_is_masked(line: str) -> None:
    assert "Zx9Zx9" not in masked(line)
    assert "***" in masked(line)


@pytest.mark.parametrize(
    "line",
    [
        "GPU KV cache size: 718,606 tokens, Maximum concurrency for 262,144 tokens per request",
        "prompt eval time = 12.00 ms / 128 tokens (0.09 ms per token, 10666.67 tokens per second)",
        "done_getting_tensors: token_embd.weight is Q8_0",
        "max_tokens=261149 n_tokens = 128",
        "http://127.0.0.1:8080/v1/models?id=1",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 76.00 MiB",
    ],
)
def test_what_is_no_key_stays(line: str) -> None:
    assert masked(line) == line
