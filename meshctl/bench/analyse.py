"""From what was recorded to rates and times, with their intervals. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, median

from meshctl.bench.estimate import Measure, measure
from meshctl.bench.reply import Reply
from meshctl.bench.session import Session, Shot
from meshctl.bench.validity import Flaw, flaws


@dataclass(frozen=True)
class Analysis:
    """What a session shows; a measure is None where nothing was seen of it."""

    invalid: tuple[Flaw, ...]
    decode_tokens_per_s: Measure | None
    prefill_tokens_per_s: Measure | None
    headers_s: Measure | None
    first_byte_s: Measure | None
    first_event_s: Measure | None
    first_token_s: Measure | None
    inter_token_s: Measure | None
    acceptance: Measure | None
    cached_tokens: int | None
    engine_decode_tokens_per_s: Measure | None


def analyse(session: Session) -> Analysis:
    """Times are those of the questions of one depth: the decode ones."""
    rates = decode_rates(session)
    replies = [shot.reply for shot in _of(session, "decode")]
    return Analysis(
        invalid=reasons(session),
        decode_tokens_per_s=measure(rates),
        prefill_tokens_per_s=measure(prefill_rates(session)),
        headers_s=_moments(replies, lambda reply: reply.headers_s),
        first_byte_s=_moments(replies, lambda reply: reply.first_byte_s),
        first_event_s=_moments(replies, lambda reply: reply.first_event_s),
        first_token_s=_moments(replies, lambda reply: reply.first_token_s),
        inter_token_s=_moments(replies, _usual_gap),
        acceptance=_acceptance(session),
        cached_tokens=_cached(session),
        engine_decode_tokens_per_s=measure(_engine_rates(replies)),
    )


def reasons(session: Session) -> tuple[Flaw, ...]:
    """Why it is worth nothing; a pair whose longer answer took no longer is a reason, too."""
    found, wanted = len(decode_rates(session)), session.workload.repeats
    if found < wanted:
        why = f"{found} of {wanted} pairs gave a decode speed"
        return (*flaws(session), Flaw("no-speed", why))
    return flaws(session)


def decode_rates(session: Session) -> list[float]:
    """One of each pair: the tokens by which the answers differ over the time by which they do, so
    that the prompt, the network and the way to the first token cancel out."""
    found = []
    for pair in _repeats(_of(session, "decode")).values():
        short, long = (pair.get(n) for n in session.workload.lengths)
        if short is None or long is None:
            continue
        tokens = (long.tokens or 0) - (short.tokens or 0)
        seconds = (long.ended_s or 0.0) - (short.ended_s or 0.0)
        if tokens > 0 and seconds > 0:
            found.append(tokens / seconds)
    return found


def prefill_rates(session: Session) -> list[float]:
    """One of each repeat: the slope of the depths, as the engine counted them, over the time to the
    first token; what is the same for every depth cancels out."""
    found = []
    for depths in _repeats(_of(session, "prefill"), by_depth=True).values():
        points = [
            (reply.ended_s, reply.prompt_tokens)
            for reply in depths.values()
            if reply.ended_s is not None and reply.prompt_tokens is not None
        ]
        if len(points) > 1 and (rate := _slope(points)) is not None:
            found.append(rate)
    return found


def gaps(reply: Reply) -> list[float]:
    """The time between each piece of text and the next."""
    return [b - a for a, b in zip(reply.token_s, reply.token_s[1:], strict=False)]


def _usual_gap(reply: Reply) -> float | None:
    """The median of one answer: its gaps hang together, so each answer counts once."""
    found = gaps(reply)
    return median(found) if found else None


def _of(session: Session, kind: str) -> list[Shot]:
    return [s for s in session.shots if s.ask.kind == kind and not s.reply.error]


def _repeats(shots: Iterable[Shot], *, by_depth: bool = False) -> Mapping[int, dict[int, Reply]]:
    found: dict[int, dict[int, Reply]] = {}
    for shot in shots:
        key = shot.ask.depth if by_depth else shot.ask.tokens
        found.setdefault(shot.ask.repeat, {})[key] = shot.reply
    return found


def _moments(replies: list[Reply], of: Callable[[Reply], float | None]) -> Measure | None:
    return measure([moment for reply in replies if (moment := of(reply)) is not None])


def _slope(points: list[tuple[float, int]]) -> float | None:
    """Tokens per second by least squares; None where more tokens did not take longer."""
    middle_s, middle = mean(s for s, _ in points), mean(tokens for _, tokens in points)
    over = sum((tokens - middle) ** 2 for _, tokens in points)
    under = sum((s - middle_s) * (tokens - middle) for s, tokens in points)
    return over / under if under > 0 else None


def _acceptance(session: Session) -> Measure | None:
    """Of exactly this run, by the counters around it; one number, and so no interval."""
    before, after = session.before, session.after
    if before is None or after is None or after.drafted is None or after.accepted is None:
        return None
    drafted = after.drafted - (before.drafted or 0)
    if drafted <= 0:
        return None
    share = (after.accepted - (before.accepted or 0)) / drafted
    return Measure(share, share, share, 1)


def _cached(session: Session) -> int | None:
    said = [s.reply.cached_tokens for s in session.measured if s.reply.cached_tokens is not None]
    return sum(said) if said else None


def _engine_rates(replies: list[Reply]) -> list[float]:
    """What the engine says of itself, for comparison."""
    return [reply.timings["predicted_per_second"] for reply in replies
            if reply.timings.get("predicted_per_second", 0) > 0]  # fmt: skip
