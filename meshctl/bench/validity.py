"""Why a bench is worth nothing, where it is. Pure.

Each reason was a number that somebody believed: an answer from the cache, one that ended early, a
client that could not read as fast as the engine wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshctl.bench.session import Session, Shot

SATURATED = 0.8
"""Share of one core that our client may use: beyond it pieces wait for us, not for the engine."""
CLOCKS_APART = 0.01, 0.05
"""Share, and seconds on top, by which our two clocks may differ over one answer: more is a machine
that slept, or a clock that was set."""
STRANGERS = 0.02, 16
"""Share, and tokens on top, that the engine may have made beyond ours."""


@dataclass(frozen=True)
class Flaw:
    """One reason; `id` is for scripts."""

    id: str
    why: str


def flaws(session: Session) -> tuple[Flaw, ...]:
    """Every reason once, with the first answer that shows it and how many there are."""
    found: dict[str, list[str]] = {}
    for id_, why in (*_of_shots(session), *_of_all(session)):
        found.setdefault(id_, []).append(why)
    return tuple(
        Flaw(id_, whys[0] + (f" (and {len(whys) - 1} more)" if whys[1:] else ""))
        for id_, whys in found.items()
    )


def _of_shots(session: Session) -> Iterator[tuple[str, str]]:
    for number, shot in enumerate(session.measured, start=1):
        for id_, why in _of_shot(shot):
            yield id_, f"answer {number} ({shot.ask.kind}): {why}"


def _of_shot(shot: Shot) -> Iterator[tuple[str, str]]:
    reply, wanted = shot.reply, shot.ask.tokens
    if reply.error:
        yield "no-answer", reply.error
        return
    if reply.finish != "length":
        yield "ended-early", f"finish reason {reply.finish or 'missing'!r}, and not 'length'"
    if reply.tokens is None or reply.prompt_tokens is None:
        yield "no-usage", "the engine did not say how many tokens there were"
    elif reply.tokens < wanted:
        yield "few-tokens", f"{reply.tokens} tokens of {wanted}"
    if reply.cached_tokens:
        yield "cached", f"{reply.cached_tokens} tokens of the prompt came from a cache"
    moments = [chunk.at_s for chunk in shot.capture.chunks]
    share, above = CLOCKS_APART
    if moments != sorted(moments):
        yield "clock", "the clock ran backwards"
    elif abs(shot.wall_s - shot.took_s) > share * shot.took_s + above:
        yield "clock", f"the clocks say {shot.took_s:.3f} s and {shot.wall_s:.3f} s"


def _of_all(session: Session) -> Iterator[tuple[str, str]]:
    if not session.steady:
        yield "never-steady", "the warm-up ended before two answers in a row took as long"
    took = sum(shot.took_s for shot in session.measured)
    cpu = sum(shot.cpu_s for shot in session.measured)
    if took and cpu / took > SATURATED:
        yield "client-busy", f"our own client used {cpu / took:.0%} of a core"
    yield from _of_strangers(session)


def _of_strangers(session: Session) -> Iterator[tuple[str, str]]:
    before, after = session.before, session.after
    if before and before.busy:
        yield "other-traffic", f"{before.busy:g} requests of others were there before ours"
    if before is None or after is None or before.tokens is None or after.tokens is None:
        return
    ours = sum(shot.reply.tokens or 0 for shot in session.measured)
    made = after.tokens - before.tokens
    share, above = STRANGERS
    if made < 0:
        yield "restarted", "the engine's counters went back: it was started anew meanwhile"
    elif made > ours * (1 + share) + above:
        yield "other-traffic", f"the engine made {made:g} tokens, and {ours} of them were ours"
