"""Shows a plan and asks before it is carried out."""

from __future__ import annotations

from meshctl.cli.world import World
from meshctl.plan.steps import Plan
from meshctl.rollout.verbs import Approve


def approval(world: World, *, show_values: bool = False) -> Approve:
    """A plan is talk until it is carried out, so it goes to stderr; then comes the question."""

    def approve(plan: Plan) -> None:
        from meshctl.ui.convert import plan_document
        from meshctl.ui.render import render

        document = plan_document([plan], show_values=show_values)
        world.output.say("\n".join(render(document, 80)))
        world.output.confirm(f"{plan.verb.capitalize()} {plan.service} on {plan.target}?")

    return approve
