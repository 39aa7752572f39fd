"""What a bench is about: a URL that anybody can ask, or what serves a service of the fleet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from meshctl.bench.endpoint import Endpoint, find
from meshctl.cli.world import World
from meshctl.errors import Refused, UsageError
from meshctl.secret import Secret

Found = tuple[Endpoint, dict[str, str | float | None]]
"""Where it is asked, and what is known of its release."""
TOKEN = "MESHCTL_BENCH_TOKEN"
"""The variable that holds the token of a URL: on a command line everybody could read it."""


@contextlib.contextmanager
def subject(world: World, what: str, model: str | None) -> Iterator[Found]:
    """A URL or a service; a host's service is reached as long as the context lasts."""
    if what.startswith(("http://", "https://")):
        word = world.environ.get(TOKEN)
        yield find(world.http, what, model, Secret(word) if word else None), {}
        return
    with _service(world, what, model) as found:
        yield found


@contextlib.contextmanager
def _service(world: World, service: str, model: str | None) -> Iterator[Found]:
    """What has traffic now, asked where clients ask it. Raises Refused where nothing serves."""
    from meshctl.cli.grounds import move_of
    from meshctl.cli.remembered import remembered
    from meshctl.plan.asks import asks_of
    from meshctl.plan.steps import CheckRelease
    from meshctl.rollout.look import existing, observe

    with remembered(world, service) as (ground, fleet):
        move, seen = move_of(ground, fleet), existing(ground, observe(ground))
        main = seen.main
        if main is None:
            hint = "see `meshctl status`; or bench a URL: `meshctl bench run --url URL`"
            raise Refused(f"no single release of {service} serves", hint=hint, place=service)
        check = CheckRelease(
            where="public" if seen.public else "service",
            revision=main.name,
            tag=None,
            release=main.release,
            identity=False,
            asks=asks_of(main.template, move.battery, move.policy),
        )
        address = ground.target.address(ground.name, check)
        about: dict[str, str | float | None] = {
            "service": service,
            "target": ground.target.name,
            "release": main.release,
            "revision": main.name,
            "image": main.template.image or None,
            "hardware": main.template.gpu,
        }
        yield find(world.http, address.url, model, address.token), about


def named(service: str | None, url: str | None) -> str:
    """The one that was named. Raises UsageError for none or both."""
    if (service is None) == (url is None):
        raise UsageError(
            "one of SERVICE and --url URL is needed, and not both",
            hint="such as `meshctl bench run --url http://127.0.0.1:8080`",
        )
    return service or url or ""
