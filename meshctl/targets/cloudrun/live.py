"""Reads a live service whole, for whoever wants to write down what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meshctl.outside.cloudrun import CloudRunApi
from meshctl.plan.observed import Revision, ServiceSeen
from meshctl.targets.cloudrun.odd import Odd, text
from meshctl.targets.cloudrun.reading import service_seen, short
from meshctl.targets.cloudrun.unsaid import Unsaid, unsaid

Json = dict[str, Any]


@dataclass(frozen=True)
class Live:
    """A service as it is: what serves, what YAML has no word for, and the account as written."""

    seen: ServiceSeen
    main: Revision | None
    unsaid: tuple[Unsaid, ...]
    account: str


def read_live(api: CloudRunApi, name: str) -> Live | None:
    """One reading; None where there is no such service. Raises Unreachable."""
    service = api.get_service(name)
    if service is None:
        return None
    revisions = api.list_revisions(name)
    seen = service_seen(service, revisions, api.get_policy(name))
    main = seen.main
    document = next((r for r in revisions if main and _is(r, main.name)), {})
    account = Odd().read("", document.get("serviceAccount"), text, "")
    return Live(seen, main, unsaid(service, document), account)


def _is(revision: Json, name: str) -> bool:
    return short(Odd().read("", revision.get("name"), text, "")) == name
