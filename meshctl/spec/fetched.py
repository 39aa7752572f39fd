"""What `deliver: fetch` needs: a mesh that fetches, and sources that it can reach. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meshctl.spec.model import Payload, Service
from meshctl.spec.sources import FETCHABLE
from meshctl.spec.tree import Complaint


def check_fetch(service: Service, payloads: Mapping[str, Payload]) -> Iterator[Complaint]:
    """Every rule broken; paths begin at the service. Payloads that are not known are passed over,
    and so are sources that are none."""
    if service.deliver != "fetch":
        if service.cache is not None:
            yield Complaint("cache", "only fetched payloads need one", "write `deliver: fetch`")
        return
    names = sorted({model.payload for model in service.models.values() if model.payload})
    if names and "mesh" not in service.args:
        message = "only the mesh fetches payloads, and `mesh` is not in args"
        yield Complaint("deliver", message, "write `args: [mesh]`, or `deliver: bake`")
    for name in names:
        if name in payloads:
            yield from _source(name, payloads[name].source)


def _source(name: str, source: str) -> Iterator[Complaint]:
    scheme = source.partition(":")[0]
    if scheme not in FETCHABLE:
        message = f"payload {name} lies in {scheme}:, where an instance cannot fetch it"
        places = ", ".join(f"{scheme}:" for scheme in FETCHABLE)
        yield Complaint("deliver", message, f"it can from {places}; or write `deliver: bake`")
    elif scheme == "https" and "?" in source:
        message = f"the source of payload {name} has a query, and the release would show it to all"
        yield Complaint("deliver", message, "name a place that needs no signature")
