"""Whether what a run changed is still its own to take back, read off the service as it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from meshctl.plan import traffic
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.steps import Plan


@dataclass(frozen=True)
class Gone:
    """The service that a run changed is no more, and with it all that was to be taken back;
    `command` is what comes next, and `then` what it does. `replaced`: another one stands in its
    place."""

    why: str
    command: str
    then: str
    replaced: bool = False


def gone(plan: Plan, seen: ServiceSeen | None) -> Gone | None:
    """Removed, or removed and made anew by somebody else: then no revision is in it that this run
    made or found in the traffic, and nothing of it may be touched."""
    if seen is None:
        deploy = f"meshctl deploy {plan.service}"
        return Gone(f"{plan.name} does not exist any more", deploy, "makes it anew")
    known = {plan.revision, *traffic.percents(plan.found)}
    if not seen.revisions or any(one.name in known for one in seen.revisions):
        return None
    why = f"{plan.name} is another service by now, made by somebody else"
    then = f"shows it; `meshctl deploy {plan.service} --take-traffic` goes on from there"
    return Gone(why, f"meshctl status {plan.service}", then, replaced=True)


def built_on(plan: Plan, seen: ServiceSeen | None) -> str:
    """Why a service that this run created is not its own to remove, or to close on the way there:
    somebody made revisions in it. "" where nobody did, and where it was there before the run."""
    if plan.strategy != "create" or seen is None:
        return ""
    if all(one.name == plan.revision for one in seen.revisions):
        return ""
    return f"{plan.name} has revisions that this run did not make; it is left alone, open or closed"
