"""Observes a Cloud Run region and performs one act on a service.

Every write is read, compared, written with the etag that was read, waited for and read again:
`writes.py` does that for a service, and here the same is done for making one, removing one, and who
may call it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from meshctl.errors import Refused, Unreachable
from meshctl.outside import chance
from meshctl.outside.clock import Clock
from meshctl.outside.cloudrun import CloudRunApi
from meshctl.outside.gcp import (
    AlreadyExists,
    ApiError,
    Conflict,
    LostAnswer,
    NotFound,
    identity_token,
)
from meshctl.outside.http import Http
from meshctl.outside.retries import WRITING, Patience
from meshctl.plan.observed import ServiceSeen, Share, TargetSeen
from meshctl.plan.steps import (
    Act,
    CheckRelease,
    CreateService,
    PlaceRevision,
    Remember,
    RemoveService,
    RetireService,
    RetireTag,
    SetScaling,
    ShiftAccess,
    ShiftTraffic,
)
from meshctl.secret import Secret
from meshctl.targets.cloudrun import edits
from meshctl.targets.cloudrun.meanwhile import Meanwhile
from meshctl.targets.cloudrun.reading import is_public, with_access
from meshctl.targets.cloudrun.reads import Reads
from meshctl.targets.cloudrun.writes import Editor, Writes
from meshctl.targets.target import Address, Assure, Witness, nothing


class CloudRunTarget:
    """One project and region; `note` hears of every try that is made again."""

    def __init__(
        self,
        name: str,
        api: CloudRunApi,
        http: Http,
        clock: Clock,
        *,
        note: Callable[[str], None] = lambda _: None,
        jitter: Callable[[], float] = chance.jitter,
    ) -> None:
        self.name, self.api, self.http = name, api, http
        self.patience = Patience(clock, note, jitter)
        self.reads = Reads(name, api, self.patience)
        self.writes = Writes(name, api, self.reads)

    def observe(self, services: Sequence[str], *, access: bool = True) -> TargetSeen:
        try:
            found = self.reads.many(services, policies=access)
            return TargetSeen(name=self.name, services=found)
        except Unreachable as error:
            where = self.api.cloud.endpoint or error.place
            return TargetSeen(name=self.name, services={}, unknown=f"{error.message} ({where})")

    def look(self, service: str) -> ServiceSeen | None:
        """The reading is also what the next write starts from; its etag makes that safe."""
        seen = self.reads.one(service, policy=False)
        if seen:
            self.writes.fresh[service] = seen
        return seen

    def perform(self, service: str, act: Act, run: str, assure: Assure = nothing) -> dict[str, Any]:
        match act:
            case CreateService():
                return self._create(service, act, run, assure)
            case PlaceRevision():
                return self._place(service, act, run, assure)
            case SetScaling():
                return self._told(service, functools.partial(edits.scaled, act=act), assure)
            case ShiftTraffic():
                return self._shift(service, act, assure)
            case ShiftAccess():
                return self._open(service, act.public, assure)
            case RetireTag():
                return self._told(service, functools.partial(edits.untagged, act=act), assure)
            case Remember():
                return self._told(service, functools.partial(edits.remembered, act=act), assure)
            case RetireService():
                return self._remove(service, act, assure)
            case RemoveService():
                return self._remove_as_seen(service, act, assure)
            case _:
                raise TypeError(f"{act.act} is not for a target")

    def _told(self, service: str, edit: Editor, assure: Assure) -> dict[str, Any]:
        return _told(*self.writes.change(service, edit, assure))

    def address(self, service: str, check: CheckRelease) -> Address:
        """The public path is asked without a token, although the policy may be closed: that is its
        point. Nor does whatever is open need one: a rollback must not fail for want of it."""
        seen = self.reads.one(service, policy=True)
        if seen is None:
            hint = "see `meshctl status`"
            raise Refused(f"{service} does not exist on {self.name}", place=self.name, hint=hint)
        url = edits.tag_url(seen, check) if check.where == "tag" else seen.url
        without = seen.anonymous if seen.public else check.where == "public"
        if without:
            return Address(url, None)
        # The audience stays the service's URL for a tag URL too; facts/cloud-run fact 11.
        audience = seen.url
        token = self.patience.read(lambda: identity_token(self.api.cloud, self.http, audience))
        return Address(url, Secret(token))

    def witness(self, service: str) -> Witness:
        """Cloud Run tells of no restart."""
        return lambda: None

    def _create(self, service: str, act: CreateService, run: str, assure: Assure) -> dict[str, Any]:
        """Create it closed, then name its revision in the traffic: LATEST moves by itself."""
        body = {
            "template": edits.named_template(act.release, act.revision, run),
            "scaling": {"minInstanceCount": act.scaling.min},
            "labels": {"meshctl": "managed"},
        }
        for again in self.patience.tries():
            if self.patience.read(lambda: self.api.get_service(service)) is not None:
                break
            assure()
            try:
                self.api.create_service(service, body)
                break
            except (LostAnswer, AlreadyExists, Conflict) as error:
                again(error)
            except ApiError as error:
                raise edits.not_created(service, act.revision, error) from error
        self._must_be_ours(service, act)
        rows = (Share(revision=act.revision, percent=100),)
        seen, others = self.writes.change(
            service, lambda seen: edits.traffic_edit(seen, rows), assure
        )
        return _told(edits.carried_out(seen, rows), others) | {"revision": act.revision}

    def _must_be_ours(self, service: str, act: CreateService) -> None:
        """Whoever created it: what stands there must be our revision, and ready."""
        seen = self.reads.settled(service)
        if seen is None or seen.revision(act.revision) is None:
            raise Refused(
                f"{service} was created by somebody else meanwhile",
                place=self.name,
                hint="look at `meshctl status`, then plan again",
            )
        edits.proved(seen, act.revision, act.release)

    def _place(self, service: str, act: PlaceRevision, run: str, assure: Assure) -> dict[str, Any]:
        seen, others = self.writes.change(
            service, lambda seen: edits.placed(seen, act, run), assure
        )
        revision = edits.proved(seen, act.revision, act.release)
        told = {"revision": revision.name, "release": revision.release}
        return told | {"tag_url": edits.tag_url(seen, act)} | _meanwhile(others)

    def _shift(self, service: str, act: ShiftTraffic, assure: Assure) -> dict[str, Any]:
        seen, others = self.writes.change(service, lambda seen: edits.shifted(seen, act), assure)
        return _told(edits.carried_out(seen, act.to), others)

    def _open(self, service: str, public: bool, assure: Assure) -> dict[str, Any]:
        """The policy has an etag of its own, and is no part of a generation. What would stay open
        whatever is written is found out before anything is."""
        for again in self.patience.tries():
            policy = self.patience.read(lambda: self.api.get_policy(service))
            wanted = with_access(policy, public)
            if not public and is_public(self._unchecked(service), wanted):
                raise self._unwilling(service, public)
            if wanted == policy:
                break
            assure()
            try:
                self.api.set_policy(service, wanted)
                break
            except (Conflict, LostAnswer) as error:
                again(error)
        seen = self.reads.one(service, policy=True)
        if seen is None or seen.public != public:
            raise self._unwilling(service, public)
        return {"public": public}

    def _unchecked(self, service: str) -> dict[str, Any]:
        """The service itself, which may say that nobody is checked."""
        return self.patience.read(lambda: self.api.get_service(service)) or {}

    def _unwilling(self, service: str, public: bool) -> Refused:
        still = "closed" if public else "open"
        return Refused(
            f"{service} is still {still}, whatever allUsers may do as roles/run.invoker",
            place=self.name,
            hint="an organisation policy, a switched-off invoker check, another role or "
            f"allAuthenticatedUsers decides: `gcloud run services get-iam-policy {service}`",
        )

    def _remove(self, service: str, act: RetireService, assure: Assure) -> dict[str, Any]:
        """Remove the service only while it is still the one this run made."""
        for again in self.patience.tries():
            seen = self.reads.one(service, policy=False)
            if seen is None:
                return {"removed": True}
            if seen.revision(act.revision) is None:
                return {"removed": False}  # somebody else's: nothing of ours is in it
            if any(revision.name != act.revision for revision in seen.revisions):
                raise Refused(
                    f"{service} has revisions that this run did not make; it is left alone",
                    place=self.name,
                    hint=f"look at it: `meshctl status {service}`",
                )
            assure()
            try:
                self.api.delete_service(service, seen.etag)
            except NotFound:
                return {"removed": True}
            except (Conflict, LostAnswer) as error:
                again(error)
                continue
            if self.reads.one(service, policy=False) is None:
                return {"removed": True}
            again(self._still_there(service))
        raise AssertionError("unreachable: the last try raises")

    def _remove_as_seen(self, service: str, act: RemoveService, assure: Assure) -> dict[str, Any]:
        """Remove whoever's service it is, only while it is exactly as it was seen."""
        for again in self.patience.tries():
            seen = self.reads.one(service, policy=False)
            if seen is None:
                return {"removed": True}
            if (seen.etag, seen.generation) != (act.etag, act.generation):
                raise Refused(
                    f"{service} was changed since it was looked at; it is left alone",
                    place=self.name,
                    hint="look again: `meshctl gc --services`",
                )
            assure()
            try:
                self.api.delete_service(service, seen.etag)
            except NotFound:
                return {"removed": True}
            except (Conflict, LostAnswer) as error:
                again(error)
                continue
            if self.reads.one(service, policy=False) is None:
                return {"removed": True}
            again(self._still_there(service))
        raise AssertionError("unreachable: the last try raises")

    def _still_there(self, service: str) -> Unreachable:
        return Unreachable(
            f"{service} is still there after {WRITING.tries} deletions",
            place=self.name,
            hint=f"look at it: `meshctl status {service}`",
        )


def _told(seen: ServiceSeen, others: Meanwhile) -> dict[str, Any]:
    """The reading as evidence, and what others did meanwhile."""
    return {
        "traffic": {row.revision: row.percent for row in seen.serving},
        "generation": seen.generation,
    } | _meanwhile(others)


def _meanwhile(others: Meanwhile) -> dict[str, Any]:
    return {"meanwhile": list(others.told)} if others.told else {}
