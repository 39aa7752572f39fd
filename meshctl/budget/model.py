"""What of a model decides the size of its caches: the parts that keep something per token. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshctl.budget.ledger import Source


@dataclass(frozen=True)
class Attention:
    """One layer that keeps keys and values of every token, or of a window of the last ones.

    - `latent`: keys and values come from one shared row (MLA): no values, never split by tp.
    - `indexer_width`: the row of a second cache that picks what is attended to (DSA); 0 is none.
    """

    kv_heads: int
    key_width: int
    value_width: int
    window: int | None = None
    latent: bool = False
    indexer_width: int = 0

    @property
    def key_elements(self) -> int:
        return self.kv_heads * self.key_width

    @property
    def value_elements(self) -> int:
        return 0 if self.latent else self.kv_heads * self.value_width


@dataclass(frozen=True)
class Recurrent:
    """One layer that keeps a state of constant size for each sequence.

    A convolution remembers `kernel` - 1 inputs of `inner` + 2 * `groups` * `state_size` channels;
    the state has `state` elements in `heads` heads. Mamba, Mamba2, gated delta nets (GDN), KDA and
    short convolutions (no state) are all of this form. `f32`: the state is never kept narrower.
    """

    kernel: int
    inner: int
    groups: int
    state_size: int
    state: int
    heads: int
    f32: bool = False

    def conv_channels(self, tp: int = 1) -> int:
        """Of all devices together; groups are raised to a multiple where tp does not divide them.

        As vLLM's `extra_groups_for_head_shards`.
        """
        short = self.groups % tp if self.groups else 0
        groups = tp if short else self.groups
        return self.inner + 2 * groups * self.state_size

    def conv_elements(self, tp: int = 1, spec_tokens: int = 0) -> int:
        """On one device; speculation keeps as many inputs more."""
        return self.conv_channels(tp) // tp * (self.kernel - 1 + spec_tokens)


Part = Attention | Recurrent


@dataclass(frozen=True)
class Model:
    """A model as far as its caches go; `drafts` are the layers that only speculation uses."""

    family: str
    parts: tuple[Part, ...]
    heads: int
    source: Source
    drafts: tuple[Attention, ...] = ()
    vocab: int | None = None
    context: int | None = None
    dtype: str = "bf16"
    ssm_dtype: str = "f32"
    heavy: bool = False
    """Experts, or eyes and ears: what takes much memory beside the caches."""
    notes: tuple[str, ...] = field(default=())

    @property
    def attention(self) -> tuple[Attention, ...]:
        return tuple(part for part in self.parts if isinstance(part, Attention))

    @property
    def recurrent(self) -> tuple[Recurrent, ...]:
        return tuple(part for part in self.parts if isinstance(part, Recurrent))


@dataclass(frozen=True)
class Unknown:
    """A model whose caches we cannot work out, and why: never a guess."""

    family: str
    why: str
