"""Good defaults for everything a plan is made of; a test overrides the one thing it is about."""

from __future__ import annotations

import itertools
from typing import Any

from meshctl.plan.observed import Revision, ServiceScaling, ServiceSeen, Share, Split
from meshctl.plan.release import EnvSecret, Release, StartupProbe, Template
from meshctl.plan.request import Request
from meshctl.plan.wanted import wanted_release
from meshctl.spec.model import CloudRunTarget, Fleet, Service
from meshctl.state.journal import run_name
from meshctl.state.ledger import Ledger, Run

IMAGE = f"host/mesh@sha256:{'1' * 64}"
URL = "http://chat.fake"


def service(version: str = "1", **changed: Any) -> dict[str, Any]:
    """A mesh of one model in one region; another `version` is another release."""
    given = {
        "role": "coordinator",
        "target": ["local"],
        "image": "mesh",
        "args": ["mesh"],
        "env": {"VERSION": version},
        "models": {"m": {}},
    }
    return given | changed


def fleet(version: str = "1", *, account: str | None = None, **changed: Any) -> Fleet:
    """A fleet of the one service `chat`; keyword arguments go into it."""
    place = {"kind": "cloudrun", "project": "local", "region": "local1", "account": account}
    return Fleet.model_validate(
        {
            "meshctl": 1,
            "fleet": "test",
            "targets": {"local": place},
            "images": {"mesh": {"ref": IMAGE}},
            "services": {"chat": service(version, **changed)},
        }
    )


def declared(of: Fleet) -> Service:
    return of.services["chat"]


def place(of: Fleet | None = None) -> CloudRunTarget:
    found = (of or fleet()).targets["local"]
    assert isinstance(found, CloudRunTarget)
    return found


def template(**changed: Any) -> Template:
    """A template with something in every field."""
    given: dict[str, Any] = {
        "image": IMAGE,
        "command": ("/bin/engine",),
        "args": ("mesh",),
        "env": (("A", "1"), ("B", "")),
        "secrets": (EnvSecret(name="TOKEN", secret="hub", version="3"),),
        "port": 8080,
        "cpu": "8",
        "memory_bytes": 32 * 2**30,
        "gpu": "nvidia-l4",
        "zonal_redundancy": False,
        "concurrency": 80,
        "timeout_s": 3600,
        "max_instances": 1,
        "min_instances": 0,
        "account": "runner@p.iam.gserviceaccount.com",
        "probe": StartupProbe(path="/health", period_s=10, timeout_s=5, failures=24),
    }
    return Template(**given | changed)


def release(version: str = "1", of: Fleet | None = None, **changed: Any) -> Release:
    """The release that the fleet of that version wants."""
    wanted = of or fleet(version, **changed)
    return wanted_release(wanted, declared(wanted), place(wanted), IMAGE)


def revision(name: str, version: str = "1", **changed: Any) -> Revision:
    """A ready revision as meshctl places it: it says its own release."""
    of = release(version)
    env = (*of.template.env, ("MESH_RELEASE", of.id))
    given: dict[str, Any] = {
        "name": name,
        "release": of.id,
        "template": of.template.model_copy(update={"env": tuple(sorted(env))}),
        "ready": True,
        "failed": False,
        "created": "2026-11-30T20:45:00Z",
        "labels": {},
    }
    return Revision(**given | changed)


def split(**shares: int) -> Split:
    """`split(v1=90, v2=10)`; LATEST is a name like any other."""
    return tuple(Share(revision=name, percent=percent) for name, percent in sorted(shares.items()))


def tagged(tag: str, name: str) -> Share:
    return Share(revision=name, tag=tag, url=f"http://{tag}---chat.fake")


def seen(*revisions: Revision, **changed: Any) -> ServiceSeen:
    """A settled service whose first revision (the newest) serves alone."""
    known = revisions or (revision("v1"),)
    traffic = changed.get("traffic", split(**{known[0].name: 100}))
    given: dict[str, Any] = {
        "name": "chat",
        "url": URL,
        "etag": "1",
        "generation": 1,
        "ready": True,
        "reconciling": False,
        "reason": "",
        "traffic": traffic,
        "effective": traffic,
        "revisions": known,
        "latest_ready": known[0].name,
        "latest_created": known[0].name,
        "scaling": ServiceScaling(min=0),
        "public": False,
    }
    return ServiceSeen(**given | changed)


def request(version: str = "2", *, ledger: Ledger | None = None, **changed: Any) -> Request:
    """A wish for that version of `chat`; fields of Request by name, the rest into the service."""
    own = {key: changed.pop(key) for key in ("take_traffic", "tag", "keep") if key in changed}
    of = fleet(version, **changed)
    return Request(
        fleet=of, key="chat", target="local", salt="salt", ledger=ledger or Ledger(), **own
    )


def ledger(*runs: Run) -> Ledger:
    return Ledger(runs=runs)


_COUNT = itertools.count(1)


def ledger_run(name: str = "v1", **changed: Any) -> Run:
    """A deploy of that revision that came to serve; `v2` is of version 2, as in `revision`."""
    number = next(_COUNT)
    at = f"2026-11-30T20:45:00.{number:06d}Z"
    given: dict[str, Any] = {
        "run": run_name("chat", "local:local1", at, "salt"),
        "verb": "deploy",
        "service": "chat",
        "site": "local:local1",
        "at": at,
        "state": "closed",
        "exit_code": 0,
        "verdict": "pass",
        "release": release(name.removeprefix("v")).id,
        "revision": name,
        "served": True,
        "traffic": {name: 100},
    }
    return Run(**given | changed)
