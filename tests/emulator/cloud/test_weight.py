"""A cloud with much in it: asking it costs what the answer costs, not what the cloud holds."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from meshctl.emulator.moment import now_us
from meshctl.emulator.run import defaults
from meshctl.emulator.run.records import READY, Outcome, Revision, Service, asdict_shallow
from meshctl.emulator.run.schema import REVISION
from tests.emulator.cloud.embedded import PARENT, Cloud

OK = "CONDITION_SUCCEEDED"
DIGEST = "sha256:" + "1" * 64
LARGEST_RSS = 300 * 2**20
TIMES_MORE = 4
"""What a request may cost in a cloud of 2,000 revisions, in requests to one of 20. It is 1 to 1.5;
work that grew with the cloud would make it 50 and more."""


def template(release: str) -> dict[str, Any]:
    env = [{"name": f"VARIABLE_{n}", "value": f"{release} of 20 variables"} for n in range(20)]
    wished = {"containers": [{"image": f"repo/app@{DIGEST}", "env": env}]}
    return defaults.filled(wished, "123456789012")


def write_service(folder: Path, name: str, revisions: int) -> None:
    """A service as it lies on disk after so many updates, the last revision but one serving.

    Written without flushing each file, as the embedded cloud does: that would take ten seconds.
    """
    good, now = Outcome(OK), now_us()
    service = Service("p", "l", name, {}, now, now, generation=revisions, observed=revisions)
    names = [f"{name}-{n:05d}-abc" for n in range(revisions)]
    (folder / "revisions").mkdir(parents=True)
    for n, short in enumerate(names):
        revision = Revision("p", "l", name, short, n + 1, template(str(n)), now_us(), state=READY)
        revision.digest = DIGEST
        (folder / "revisions" / f"{short}.json").write_text(json.dumps(asdict(revision)))
    service.latest_created = service.latest_ready = names[-1]
    service.counter = revisions
    service.ready = service.routes = service.configurations = good
    split = {"type": REVISION, "revision": names[-2], "percent": 100}
    candidate = {"type": REVISION, "revision": names[-1], "tag": "candidate"}
    service.statuses = [split, candidate]
    service.spec = {"template": template(str(revisions - 1)), "traffic": [split, candidate]}
    service.spec |= {"ingress": "INGRESS_TRAFFIC_ALL", "launchStage": "GA"}
    row = {key: value for key, value in asdict_shallow(service).items() if key != "revisions"}
    (folder / "service.json").write_text(json.dumps(row))


def started(folder: Path, services: int) -> Cloud:
    for n in range(services):
        write_service(folder / "data/run/p/l" / f"s{n:03d}", f"s{n:03d}", 20)
    return Cloud(folder / "data").start()


def fastest_s(cloud: Cloud, method: str, path: str, body: Any = None) -> float:
    """The fastest of many: what else this machine does only ever makes one slower."""
    seconds = []
    for _ in range(25):
        began = time.perf_counter()
        status, _ = cloud.call(method, path, body)
        seconds.append(time.perf_counter() - began)
        assert status == 200
    return min(seconds)


def test_a_request_costs_the_same_in_a_cloud_of_100_services_with_20_revisions_each(
    tmp_path: Path,
) -> None:
    one, hundred = started(tmp_path / "one", 1), started(tmp_path / "hundred", 100)
    service = f"/v2/{PARENT}/services/s000"
    label = {"labels": {"a": "b"}}
    requests = [
        ("GET", service, None),
        ("GET", f"{service}/revisions/s000-00003-abc", None),
        ("GET", f"{service}/revisions?pageSize=20", None),
        ("GET", f"/v2/{PARENT}/services?pageSize=1", None),
        ("PATCH", f"{service}?updateMask=labels", label),
    ]

    try:
        costs = [(fastest_s(one, *what), fastest_s(hundred, *what)) for what in requests]
        whole = hundred.call("GET", f"/v2/{PARENT}/services?pageSize=1000")[1]
        page = hundred.call("GET", f"/v2/{PARENT}/services/-/revisions?pageSize=1000")[1]
        memory = hundred.call("GET", "/emulator/status")[1]["rss_bytes"]
    finally:
        codes = one.stop(), hundred.stop()

    assert (len(whole["services"]), len(page["revisions"]), codes) == (100, 1000, (0, 0))
    too_dear = [what for what, (a, b) in zip(requests, costs, strict=True) if b > TIMES_MORE * a]
    assert too_dear == [], costs
    assert memory < LARGEST_RSS
