"""Reads GGUF metadata keys into a Model, or says that the architecture is unknown. Pure."""

from __future__ import annotations

from meshctl.budget.families import (
    ARCH_PERIODS,
    ARCHS,
    GDN_ARCHS,
    MIXED_ARCHS,
    MLA_ARCHS,
    PARALLEL_ARCHS,
    PURE_ARCHS,
)
from meshctl.budget.keys import MOST_LAYERS, BadKey, Keys
from meshctl.budget.model import Attention, Model, Part, Recurrent, Unknown
from meshctl.spec.tree import Complaint

_GEMMA3N_OWNERS = 20
"""llama.cpp gives the first 20 layers of a Gemma 3n their own cache, whatever the file says."""
_EXAONE4_WINDOWED = 64
"""llama.cpp gives windows to an EXAONE 4 of so many layers (the 32B) alone, whatever it says."""
_LARGEST_WINDOW = 2**31


def model_of_gguf(metadata: Keys) -> Model | Unknown:
    """The model that the metadata describes. Raises BadKey where a key is missing or wrong."""
    arch = metadata.text("general.architecture") or _arch_of_keys(metadata)
    if arch not in ARCHS:
        return Unknown(arch, f"no rule for the architecture {arch!r}")
    keys = Keys(metadata.values, metadata.path, f"{arch}.")
    strange = next((k for k in ("attention.compress_ratios",) if keys.has(k)), None)
    if strange:
        return Unknown(arch, f"{strange} makes a cache that no rule covers")
    every = keys.need("block_count", most=MOST_LAYERS)
    ahead = keys.number("nextn_predict_layers", most=every - 1) or 0
    reader = _Reader(keys, arch, every)
    parts = [part for index in range(every - ahead) for part in reader.parts(index)]
    drafts = tuple(reader.attention(index) for index in range(every - ahead, every))
    return Model(
        family=arch,
        parts=tuple(parts),
        heads=reader.heads,
        source="header",
        drafts=drafts,
        vocab=keys.number("vocab_size"),
        context=keys.number("context_length", least=1),
        dtype="f16",
        ssm_dtype="f32",
        heavy=bool(keys.number("expert_count")),
        notes=reader.notes(every - ahead),
    )


def _arch_of_keys(metadata: Keys) -> str:
    names = [key for key in metadata.values if key.endswith(".block_count")]
    if len(names) != 1:
        raise BadKey(
            Complaint(metadata.path, "general.architecture is missing", "the keys begin with it")
        )
    return names[0].removesuffix(".block_count")


class _Reader:
    """One architecture's keys, asked layer by layer."""

    def __init__(self, keys: Keys, arch: str, count: int) -> None:
        self.keys, self.arch, self.count = keys, arch, count
        heads = keys.numbers("attention.head_count", count) or (0,) * count
        self.heads = max(heads)
        self.kv_heads = keys.numbers("attention.head_count_kv", count) or heads
        self.feed_forward = keys.numbers("feed_forward_length", count) or (0,) * count
        self.is_mla = bool(keys.number("attention.key_length_mla")) and bool(
            keys.number("attention.value_length_mla")
        )
        self.windows = self._windows()
        self.recurrent = self._recurrent()
        self.owners = self._owners()
        self.picks = keys.flags("attention.indexer.types", count) or (True,) * count

    def parts(self, index: int) -> list[Part]:
        """What layer `index` keeps."""
        found: list[Part] = []
        if self.recurrent[index]:
            found.append(self._state())
        is_attention = not self.recurrent[index] or self.arch in PARALLEL_ARCHS
        if is_attention and index < self.owners and self.kv_heads[index]:
            found.append(self.attention(index))
        return found

    def attention(self, index: int) -> Attention:
        """The cache of one attention layer."""
        keys, window = self.keys, self.windows[index]
        suffix = "_swa" if window and keys.has("attention.key_length_swa") else ""
        width = keys.number(f"attention.key_length{suffix}", least=1) or self._width()
        values = keys.number(f"attention.value_length{suffix}", least=1) or self._width()
        picks = keys.number("attention.indexer.key_length") if self.picks[index] else 0
        return Attention(
            self.kv_heads[index], width, values, window, self.is_mla, indexer_width=picks or 0
        )

    def notes(self, layers: int) -> tuple[str, ...]:
        """What a reader of the answer should know of the file."""
        found = []
        if self.arch in MLA_ARCHS and not self.is_mla:
            found.append("no key_length_mla: an old file, whose latent is unfolded to every head")
        if self.owners < layers:
            found.append(f"the last {layers - self.owners} layers use the cache of earlier ones")
        return tuple(found)

    def _width(self) -> int:
        embedding, heads = self.keys.need("embedding_length"), max(self.heads, 1)
        if heads > embedding:
            name = "attention.head_count"
            raise self.keys.bad(name, f"{heads} cannot share {embedding}")
        return embedding // heads

    def _windows(self) -> tuple[int | None, ...]:
        window = self.keys.number("attention.sliding_window", most=_LARGEST_WINDOW)
        if self.arch not in ARCH_PERIODS or not window:
            return (None,) * self.count
        if self.arch == "exaone4" and self.count != _EXAONE4_WINDOWED:
            return (None,) * self.count
        name = "attention.sliding_window_pattern"
        listed = self.keys.flags(name, self.count)
        if listed is not None:
            return tuple(window if is_window else None for is_window in listed)
        period = self.keys.number(name) or ARCH_PERIODS[self.arch]
        return tuple(window if i % period < period - 1 else None for i in range(self.count))

    def _recurrent(self) -> tuple[bool, ...]:
        if self.arch in PURE_ARCHS or self.arch in PARALLEL_ARCHS:
            return (True,) * self.count
        if self.arch in GDN_ARCHS:
            listed = self.keys.flags("attention.recurrent_layers", self.count)
            period = self.keys.number("full_attention_interval", least=1) or 4
            ahead = self.keys.number("nextn_predict_layers") or 0
            own = self.count - ahead
            return listed or tuple(i < own and (i + 1) % period != 0 for i in range(self.count))
        if self.arch in MIXED_ARCHS:
            fed = self.feed_forward if self.arch.startswith("nemotron") else (0,) * self.count
            return tuple(h == 0 and f == 0 for h, f in zip(self.kv_heads, fed, strict=True))
        return (False,) * self.count

    def _owners(self) -> int:
        shared = self.keys.number("attention.shared_kv_layers", most=self.count) or 0
        if self.arch == "gemma3n":
            return min(self.count, _GEMMA3N_OWNERS)
        return self.count - shared

    def _state(self) -> Recurrent:
        keys = self.keys
        if self.arch.startswith("lfm2"):
            inner = keys.need("embedding_length")
            return Recurrent(keys.need("shortconv.l_cache", most=64), inner, 0, 0, 0, 1)
        kernel = keys.need("ssm.conv_kernel", most=64)
        if keys.has("kda.head_dim"):
            width = keys.need("kda.head_dim")
            state = self.heads * width * width
            inner = self.heads * width
            return Recurrent(kernel, inner, self.heads, width, state, self.heads, f32=True)
        inner, size = keys.need("ssm.inner_size"), keys.need("ssm.state_size")
        groups = keys.number("ssm.group_count") or 0
        heads = keys.number("ssm.time_step_rank", least=1) or 1
        return Recurrent(kernel, inner, groups, size, inner * size, heads)
