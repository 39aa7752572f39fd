"""Says where clients are shut out of a service that the fleet declares public.

meshctl calls a closed service with a token of its own, so a release can pass there that no client
reaches. That is drift of the service, not a fault of the release: no verdict on a revision rests on
it, and it is never told as a success either.
"""

from __future__ import annotations

from meshctl.errors import MeshctlError, Refused
from meshctl.plan.observed import ServiceSeen
from meshctl.rollout.ground import Ground
from meshctl.rollout.look import observe
from meshctl.rollout.outcome import Outcome
from meshctl.state.evidence import Evidence, Verdict, overall

NAME = "public"
"""How the finding is called among the checks of a battery."""


def shut_out(ground: Ground, seen: ServiceSeen) -> str:
    """What keeps clients out; empty where nothing does, or where nobody asked who may call it."""
    if not ground.public or seen.public is not False:
        return ""
    return (
        "closed to clients: the fleet file declares `access: public`, but who shows no token is "
        "refused; meshctl asked with its own"
    )


def opening(ground: Ground) -> str:
    """The way out, both of them: the wish or the service is wrong."""
    return f"`meshctl deploy {ground.key}` opens it; or write `access: private`"


def told_to_clients(ground: Ground, seen: ServiceSeen, verdict: Verdict, *, part: bool) -> Verdict:
    """The verdict on what serves as clients have it. Where only a part of the battery was asked it
    is told, and decides nothing."""
    why = shut_out(ground, seen)
    if not why:
        return verdict
    found = Evidence(
        name=NAME, verdict="skipped" if part else "fail", why=f"{why}; {opening(ground)}"
    )
    checks = (*verdict.checks, found)
    return Verdict(verdict=verdict.verdict if part else overall(checks), checks=checks)


def refuse_shut_out(ground: Ground, seen: ServiceSeen) -> None:
    """Raises Refused: a cutover ends with a check on the public path, and there is none."""
    if shut_out(ground, seen):
        raise Refused(
            f"{ground.key} is closed to clients although the fleet file declares `access: public`, "
            "so its public path cannot be asked",
            hint=opening(ground),
            place=f"{ground.target.name}/{ground.name}",
        )


def with_access(ground: Ground, outcome: Outcome) -> Outcome:
    """The end of a rollback, and what it does not say by itself: access is no part of a release."""
    if not ground.public or outcome.exit_code != 0:
        return outcome
    try:
        seen = observe(ground)
    except MeshctlError:  # what was done is done, and is told
        return outcome
    why = shut_out(ground, seen) if seen else ""
    if not why:
        return outcome
    message = f"{outcome.message}; {why}"
    return outcome.model_copy(update={"message": message, "hint": opening(ground)})
