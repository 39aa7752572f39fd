"""Prompts of a wanted length that no cache has seen. Pure."""

from __future__ import annotations

import hashlib

WORDS = (
    "river", "stone", "winter", "garden", "copper", "letter", "window", "shadow", "bridge",
    "candle", "forest", "silver", "morning", "market", "anchor", "feather", "kitchen", "harbour",
    "lantern", "meadow", "needle", "orchard", "pepper", "saddle", "thunder", "velvet", "wagon",
    "yellow", "basket", "circle", "dragon", "engine",
)  # fmt: skip
"""Thirty-two common words: a salt of ten of them holds fifty bits, and is about as many tokens
whichever they are."""
SALT_WORDS = 10
TEXT = (
    "The keeper of the lighthouse wrote in his book each evening, for nothing was to be forgotten. "
    "He noted the wind and the height of the water, the ships that had passed and the flags they "
    "showed, and at what hour the lamp had been lit. When a boat came with bread and oil he asked "
    "its people for news, and set that down as well, although it was old by the time it reached "
    "him. In spring the birds struck the glass at night; he counted them and buried them behind "
    "the house. A storm in autumn took the lower steps away, and for three weeks nobody could "
    "land. He wrote that the silence was not unpleasant, that the stove drew well, and that he had "
    "learned to tell the hour by the sound of the tide among the rocks. "
)
"""Prose: random tokens wreck the acceptance of a drafter, and with it what users would see."""
WORDS_PER_TOKEN = 0.8
"""Of English, roughly; what a prompt really holds the engine says, and that is what counts."""


def prompt(tokens: int, seed: str) -> str:
    """About so many tokens. The salt comes first: behind the text it would leave the whole text in
    the cache of the engine."""
    wanted = max(1, round(tokens * WORDS_PER_TOKEN) - SALT_WORDS)
    words = TEXT.split()
    text = (words * (wanted // len(words) + 1))[:wanted]
    return f"{salt(seed)}. {' '.join(text)}"


def salt(seed: str) -> str:
    """Ten words that follow from the seed alone."""
    digest = hashlib.sha256(seed.encode()).digest()
    return " ".join(WORDS[byte % len(WORDS)] for byte in digest[:SALT_WORDS])
