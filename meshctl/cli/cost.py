"""`meshctl cost`: what the fleet costs as it is, idle and full."""

from __future__ import annotations

import typer

from meshctl.cli.deploy import SERVICES
from meshctl.cli.statuses import statuses
from meshctl.cli.world import world_of


def cost(ctx: typer.Context, services: list[str] | None = SERVICES) -> int:
    """Show what services cost an hour, idle and full, and the candidates that are kept warm.

    Idle is what is paid though nobody asks. List prices, unless the fleet file has its own under
    `prices`; a price that is not known makes the sum unknown, never nothing. Exits 6 when a
    target cannot be reached.
    """
    from meshctl.ui.tidy import cost_document

    world = world_of(ctx)
    found = statuses(world, services)
    world.output.show(cost_document(found))
    return 6 if any(one.state == "UNKNOWN" for one in found) else 0
