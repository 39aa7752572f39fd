"""Says before a boot whether a release fits on its card, why, and what would help. Pure.

    geometry   the file: what the model is, how it is to be served
    config, gguf   config.json keys or GGUF metadata -> Model
    vllm, llama    Model and settings -> Cache, as that engine lays it out
    overhead   what else takes memory: a band, never a point
    verdict    fits, tight, no or unknown, and which condition binds
    plan       the story: Geometry -> Budget

A fleet is brought to the same question:

    weights    a payload's header -> its keys, and the bytes on one device
    flags      an engine's command line -> settings; unknown flags are named
    devices, card   which card, and how much of it an engine can use
    tenants    a service -> the models it loads
    on_card, beside   a model on a card, alone and beside others -> Budget
    longest, ways   how long a context could be, what to give up first
    answer     all of it

Sizes are bytes on one device. Every number that led to the answer is a line of the ledger with its
source.
"""
