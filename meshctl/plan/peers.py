"""Plans that change what a coordinator announces: a deploy of it, with proofs in between. Pure.

The announcement is part of the coordinator's environment, and so of its release. What is added is
proved twice: on the tag, before any request of a client can come upon it, and on the path of the
clients once the release has all traffic. The proofs are steps like all others, so a failed one is
undone, and an interrupted one is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from meshctl.plan.acts import Acts, numbered
from meshctl.plan.make import make_deploy
from meshctl.plan.observed import ServiceSeen
from meshctl.plan.question import public_text
from meshctl.plan.request import Request
from meshctl.plan.steps import Asks, CheckRelease, PeerAsked, Plan, Reason


@dataclass(frozen=True)
class Announcing:
    """What shall be announced, and who must prove that it answers; `recorded` says that the
    journal says so already."""

    verb: str
    text: str
    proofs: tuple[PeerAsked, ...] = ()
    recorded: bool = False
    notes: tuple[str, ...] = ()


def make_announcement(request: Request, seen: ServiceSeen | None, said: Announcing) -> Plan:
    """The deploy of the coordinator with another announcement, and its proofs."""
    plan = make_deploy(replace(request, peers=said.text), seen)
    plan = plan.model_copy(
        update={"verb": said.verb, "peers": said.text, "notes": (*said.notes, *plan.notes)}
    )
    if seen is None:
        hint = f"first `meshctl deploy {request.key}`"
        reason = Reason(message=f"{request.key} does not exist yet", hint=hint)
        return plan.model_copy(update={"steps": (), "refused": (*plan.refused, reason)})
    if plan.refused or (said.recorded and not plan.steps):
        return plan
    return plan.model_copy(update={"steps": numbered(_with_proofs(plan, request, seen, said))})


def _with_proofs(plan: Plan, request: Request, seen: ServiceSeen, said: Announcing) -> Acts:
    """Where nothing is to be rolled out, the coordinator is asked all the same: what is recorded
    as announced was seen."""
    acts: Acts = [(step.text, step.act) for step in plan.steps]
    if not acts and plan.before:
        acts = [(public_text(seen), plan.before)]
    checks = [n for n, (_, act) in enumerate(acts) if isinstance(act, CheckRelease)]
    if not said.proofs or not checks:
        return acts
    for n in sorted({checks[0], checks[-1]}, reverse=True):
        act = acts[n][1]
        assert isinstance(act, CheckRelease)
        acts.insert(n + 1, _proof(act, request, said))
    return acts


def _proof(after: CheckRelease, request: Request, said: Announcing) -> tuple[str, CheckRelease]:
    """The peers, asked where the check before it asked the coordinator itself."""
    confirm = request.service.rollout.confirm
    asks = Asks(battery=(), confirm=confirm, peers=said.proofs)
    names = ", ".join(peer.id for peer in said.proofs)
    where = f"tag {after.tag}" if after.where == "tag" else "its URL"
    text = f"prove that {names} answers through it, on {where}"
    return text, after.model_copy(update={"asks": asks, "bake_s": 0.0})
